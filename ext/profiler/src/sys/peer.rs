//! The process at the other end of a Unix socket, and the ends of sockets.

use ::core::prelude::rust_2021::*;
use ::std::os::fd::{AsRawFd, RawFd};
use ::std::os::unix::net::UnixStream;

use super::system::peer::uid_of;

/// The user of the process that connected, as the kernel says.
pub(crate) fn uid(stream: &UnixStream) -> Option<u32> {
    uid_of(stream.as_raw_fd())
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
