//! The process at the other end of a Unix socket.

use ::core::prelude::rust_2021::*;
use ::std::os::fd::RawFd;

/// Returns the user of the process.
pub(crate) fn uid_of(socket: RawFd) -> Option<u32> {
    let (mut uid, mut gid) = (0, 0);
    // SAFETY: both are ours to write.
    let failed = unsafe { ::libc::getpeereid(socket, &raw mut uid, &raw mut gid) };
    (failed == 0).then_some(uid)
}
