//! The listening socket, on the thread that accepts from it.

use std::io;
use std::mem::ManuallyDrop;
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread::sleep;
use std::time::Duration;

use crate::sys::descriptor::{Descriptor, DescriptorSlot};

/// The pause if the process has no descriptor left.
const PAUSE: Duration = Duration::from_secs(1);

/// A listening socket. It is closed on drop, unless the app has closed it: then the number may be another
/// file's.
#[derive(Debug)]
pub(super) struct Listener {
    socket: ManuallyDrop<UnixListener>,
    pub(super) descriptor: Descriptor,
}

impl Listener {
    pub(super) fn new(socket: UnixListener) -> io::Result<Self> {
        socket.set_nonblocking(false)?; // Ruby may have made it so
        let descriptor = Descriptor::of(&socket).ok_or(io::ErrorKind::NotConnected)?;
        Ok(Self { socket: ManuallyDrop::new(socket), descriptor })
    }

    /// Waits for a client. Returns `None` if there is none after all.
    ///
    /// `reserve` is a second descriptor of the socket. It is given up for a client if the process has no
    /// other one left: a process that leaks descriptors is worth looking into.
    ///
    /// # Errors
    /// `NotConnected` if the number no longer refers to the socket.
    pub(super) fn accept(&self, reserve: &DescriptorSlot) -> io::Result<Option<UnixStream>> {
        if reserve.get().is_none() {
            if let Some(second) = self.descriptor.duplicate() {
                reserve.claim(&second);
            }
        }
        // The number may become another file's while this waits. The kernel keeps to the socket, so the
        // client is ours.
        self.descriptor.check()?;
        match self.socket.accept() {
            Ok((stream, _)) => return Ok(Some(stream)),
            Err(why) if !is_out_of_resources(&why) => return Ok(None),
            Err(_) => {}
        }
        match reserve.take() {
            Some(reserve) => reserve.close(),
            None => sleep(PAUSE),
        }
        self.descriptor.check()?;
        Ok(self.socket.accept().ok().map(|it| it.0))
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.descriptor.close();
    }
}

/// Returns whether the process, or the system, lacks a descriptor or memory for one more.
fn is_out_of_resources(why: &io::Error) -> bool {
    matches!(why.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM))
}
