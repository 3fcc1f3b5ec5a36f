//! The socket of a client. It ends early if the app closes its descriptor.

use std::io;
use std::mem::forget;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::sys::descriptor::Descriptor;

/// A connected socket. It is closed on drop, unless the app has closed it: then the number may be another
/// file's.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) descriptor: Descriptor,
}

impl Stream {
    /// Takes over a socket. Returns `None` if it is already closed.
    pub(super) fn new(socket: UnixStream) -> Option<Self> {
        let descriptor = Descriptor::of(&socket);
        forget(socket); // from now on the descriptor says whose the number is
        Some(Self { descriptor: descriptor? })
    }

    /// Receives bytes within `patience`; returns 0 at the end.
    ///
    /// # Errors
    /// The errors of the system, and `NotConnected` if the app has closed the socket.
    pub(super) fn receive(&self, buffer: &mut [u8], patience: Duration) -> io::Result<usize> {
        self.descriptor.receive(buffer, patience)
    }

    /// Sends some of the bytes within `patience`, and returns how many.
    ///
    /// # Errors
    /// Same as for [`Stream::receive`].
    pub(super) fn send(&self, bytes: &[u8], patience: Duration) -> io::Result<usize> {
        self.descriptor.send(bytes, patience)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.descriptor.close();
    }
}
