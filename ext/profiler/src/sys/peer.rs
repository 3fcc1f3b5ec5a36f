//! The process at the other end of a Unix socket.

use ::core::prelude::rust_2021::*;
use ::std::os::fd::AsRawFd;
use ::std::os::unix::net::UnixStream;

/// Returns the user of the process that connected, according to the kernel.
#[cfg(target_os = "linux")]
pub(crate) fn uid(stream: &UnixStream) -> Option<u32> {
    let mut peer = ::libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut size = ::core::mem::size_of::<::libc::ucred>() as ::libc::socklen_t;
    // SAFETY: the kernel writes at most `size` bytes into the struct, which outlives the call.
    let failed = unsafe {
        let out = (&raw mut peer).cast();
        ::libc::getsockopt(stream.as_raw_fd(), ::libc::SOL_SOCKET, ::libc::SO_PEERCRED, out, &raw mut size)
    };
    (failed == 0).then_some(peer.uid)
}

/// Returns the user of the process that connected, according to the kernel.
#[cfg(target_os = "macos")]
pub(crate) fn uid(stream: &UnixStream) -> Option<u32> {
    let (mut uid, mut gid) = (0, 0);
    // SAFETY: both are ours to write.
    let failed = unsafe { ::libc::getpeereid(stream.as_raw_fd(), &raw mut uid, &raw mut gid) };
    (failed == 0).then_some(uid)
}

/// Returns the user of this process.
pub(crate) fn own_uid() -> u32 {
    // SAFETY: takes no argument and cannot fail.
    unsafe { ::libc::geteuid() }
}
