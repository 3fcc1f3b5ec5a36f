//! The process at the other end of a Unix socket.

use ::core::mem::size_of;
use ::core::prelude::rust_2021::*;
use ::std::os::fd::RawFd;

/// Returns the user of the process.
pub(crate) fn uid_of(socket: RawFd) -> Option<u32> {
    let mut peer = ::libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut size = size_of::<::libc::ucred>() as ::libc::socklen_t;
    // SAFETY: the kernel writes at most `size` bytes into the struct, which outlives the call.
    let failed = unsafe {
        let out = (&raw mut peer).cast();
        ::libc::getsockopt(socket, ::libc::SOL_SOCKET, ::libc::SO_PEERCRED, out, &raw mut size)
    };
    (failed == 0).then_some(peer.uid)
}
