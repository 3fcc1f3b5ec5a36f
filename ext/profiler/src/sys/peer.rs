//! The process at the other end of a Unix socket, and the ends of sockets.

use ::core::ffi::c_int;
use ::core::mem::size_of;
use ::core::prelude::rust_2021::*;
use ::std::os::fd::{AsRawFd, RawFd};
use ::std::os::unix::net::UnixStream;

/// The user of the process that connected, as the kernel says.
pub(crate) fn uid(stream: &UnixStream) -> Option<u32> {
    let mut peer = ::libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut size = size_of::<::libc::ucred>() as ::libc::socklen_t;
    // SAFETY: the kernel writes at most `size` bytes into the struct, which outlives the call.
    let failed: c_int = unsafe {
        let out = (&raw mut peer).cast();
        ::libc::getsockopt(stream.as_raw_fd(), ::libc::SOL_SOCKET, ::libc::SO_PEERCRED, out, &raw mut size)
    };
    (failed == 0).then_some(peer.uid)
}

/// The user of this process.
pub(crate) fn own_uid() -> u32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { ::libc::geteuid() }
}

/// Ends all that others wait for on a socket.
pub(crate) fn shut_down(socket: RawFd) {
    // SAFETY: a number; on one that is closed by now it fails.
    unsafe { ::libc::shutdown(socket, ::libc::SHUT_RDWR) };
}

/// Closes a copy of a socket whose owner this process does not have.
pub(crate) fn close(socket: RawFd) {
    // SAFETY: a number; nobody else in this process uses it.
    unsafe { ::libc::close(socket) };
}
