//! The process at the other end of a Unix socket.

use ::core::prelude::rust_2021::*;
use ::std::os::fd::AsRawFd;
use ::std::os::unix::net::UnixStream;

use super::system::peer::uid_of;

/// Returns the user of the process that connected, according to the kernel.
pub(crate) fn uid(stream: &UnixStream) -> Option<u32> {
    uid_of(stream.as_raw_fd())
}

/// Returns the user of this process.
pub(crate) fn own_uid() -> u32 {
    // SAFETY: takes no argument and cannot fail.
    unsafe { ::libc::geteuid() }
}
