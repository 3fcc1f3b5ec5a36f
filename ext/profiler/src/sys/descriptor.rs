//! Descriptors that are identified by their files, not only by their numbers.
//!
//! An app may close all descriptors that it did not open, as daemons do, and ours with them. The system then
//! reuses their numbers for files and sockets of the app. So before each use a number is compared with the
//! device and the inode that it had.

use ::core::cmp::max;
use ::core::mem::{size_of_val, MaybeUninit};
use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use ::core::time::Duration;
use ::std::io;
use ::std::os::fd::{AsRawFd, RawFd};

/// The number of a free [`DescriptorSlot`], and of one that is being filled.
const FREE: RawFd = -1;
const CLAIMED: RawFd = -2;

/// A descriptor that the profiler opened: its number, and the file that it referred to then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Descriptor {
    number: RawFd,
    device: u64,
    inode: u64,
}

impl Descriptor {
    /// Returns the identity of a descriptor that was just opened. Returns `None` if it is closed.
    pub(crate) fn of(opened: &impl AsRawFd) -> Option<Self> {
        let number = opened.as_raw_fd();
        let (device, inode) = identity(number)?;
        Some(Self { number, device, inode })
    }

    /// Returns whether the number still refers to our file.
    pub(crate) fn is_ours(&self) -> bool {
        identity(self.number) == Some((self.device, self.inode))
    }

    /// Ends the waits of all threads and processes on a socket, if it is ours.
    pub(crate) fn shut_down(&self) {
        if self.is_ours() {
            // SAFETY: the call takes no pointer; it fails for a number that is not a socket.
            unsafe { ::libc::shutdown(self.number, ::libc::SHUT_RDWR) };
        }
    }

    /// Ends the waits for bytes from a socket, if it is ours. What has arrived can still be received, and bytes
    /// can still be sent.
    pub(crate) fn shut_down_reading(&self) {
        if self.is_ours() {
            // SAFETY: the call takes no pointer; it fails for a number that is not a socket.
            unsafe { ::libc::shutdown(self.number, ::libc::SHUT_RD) };
        }
    }

    /// Closes the descriptor, if it is ours.
    pub(crate) fn close(&self) {
        if self.is_ours() {
            // SAFETY: the number refers to our file, and the caller is its only owner.
            unsafe { ::libc::close(self.number) };
        }
    }

    /// Opens the same file once more.
    pub(crate) fn duplicate(&self) -> Option<Self> {
        if !self.is_ours() {
            return None;
        }
        // SAFETY: the call takes no pointer; it fails for a number that is not open.
        let number = unsafe { ::libc::fcntl(self.number, ::libc::F_DUPFD_CLOEXEC, 3) };
        (number >= 0).then_some(Self { number, ..*self })
    }

    /// Waits for bytes from a socket for up to `patience`, and receives them; returns 0 at the end of the
    /// stream. The kernel keeps the socket meanwhile, whatever happens to the number.
    ///
    /// # Errors
    /// `WouldBlock` after that time, `NotConnected` if the number refers to another file, and those of the
    /// system.
    pub(crate) fn receive(&self, buffer: &mut [u8], patience: Duration) -> io::Result<usize> {
        self.check()?;
        self.limit(::libc::SO_RCVTIMEO, patience)?;
        // SAFETY: the kernel writes at most as many bytes as the buffer has.
        let count = unsafe { ::libc::recv(self.number, buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        usize::try_from(count).map_err(|_| io::Error::last_os_error())
    }

    /// Sends bytes to a socket, which may take up to `patience` to accept some, and returns how many it
    /// accepted. A file is never written to, as `send` refuses it.
    ///
    /// # Errors
    /// Same as for [`Descriptor::receive`].
    pub(crate) fn send(&self, bytes: &[u8], patience: Duration) -> io::Result<usize> {
        self.check()?;
        let flags = if patience.is_zero() { ::libc::MSG_DONTWAIT } else { 0 };
        self.limit(::libc::SO_SNDTIMEO, patience)?;
        // SAFETY: the kernel reads only as many bytes as there are.
        let count = unsafe { ::libc::send(self.number, bytes.as_ptr().cast(), bytes.len(), flags) };
        usize::try_from(count).map_err(|_| io::Error::last_os_error())
    }

    /// Checks that the number refers to our file.
    ///
    /// # Errors
    /// `NotConnected` if it does not.
    pub(crate) fn check(&self) -> io::Result<()> {
        if self.is_ours() {
            Ok(())
        } else {
            Err(io::ErrorKind::NotConnected.into())
        }
    }

    /// Sets a time limit of a socket. To the kernel, 0 means no limit.
    fn limit(&self, option: ::libc::c_int, patience: Duration) -> io::Result<()> {
        let us = max(patience.as_micros(), 1);
        let time = ::libc::timeval {
            tv_sec: (us / 1_000_000) as ::libc::time_t,
            tv_usec: (us % 1_000_000) as ::libc::suseconds_t,
        };
        // SAFETY: the kernel reads a struct of the given size.
        let failed = unsafe {
            let (time, size) = ((&raw const time).cast(), size_of_val(&time) as ::libc::socklen_t);
            ::libc::setsockopt(self.number, ::libc::SOL_SOCKET, option, time, size)
        };
        if failed == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

fn identity(number: RawFd) -> Option<(u64, u64)> {
    let mut stat = MaybeUninit::<::libc::stat>::uninit();
    // SAFETY: the kernel fills the struct if it succeeds.
    let stat = unsafe {
        if ::libc::fstat(number, stat.as_mut_ptr()) != 0 {
            return None;
        }
        stat.assume_init()
    };
    #[allow(clippy::unnecessary_cast)] // macOS has other types
    Some((stat.st_dev as u64, stat.st_ino as u64))
}

/// A place for a descriptor, without a lock: a forked child reads what the parent's threads wrote.
#[derive(Debug)]
pub(crate) struct DescriptorSlot {
    number: AtomicI32,
    device: AtomicU64,
    inode: AtomicU64,
}

impl DescriptorSlot {
    pub(crate) const fn new() -> Self {
        Self { number: AtomicI32::new(FREE), device: AtomicU64::new(0), inode: AtomicU64::new(0) }
    }

    /// Stores a descriptor. Returns false if the slot has one.
    pub(crate) fn claim(&self, descriptor: &Descriptor) -> bool {
        if self.number.compare_exchange(FREE, CLAIMED, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return false;
        }
        self.device.store(descriptor.device, Ordering::Relaxed);
        self.inode.store(descriptor.inode, Ordering::Relaxed);
        // Release pairs with the Acquire in `get` and `take`.
        self.number.store(descriptor.number, Ordering::Release);
        true
    }

    /// Returns the descriptor; `None` if there is none.
    pub(crate) fn get(&self) -> Option<Descriptor> {
        // Acquire pairs with the Release in `claim`.
        self.with_number(self.number.load(Ordering::Acquire))
    }

    /// Removes the descriptor and returns it.
    pub(crate) fn take(&self) -> Option<Descriptor> {
        // Acquire pairs with the Release in `claim`. The next claim of the slot may change the identity only
        // after that.
        let taken = self.get()?;
        self.number
            .compare_exchange(taken.number, FREE, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
            .then_some(taken)
    }

    fn with_number(&self, number: RawFd) -> Option<Descriptor> {
        (number >= 0).then(|| Descriptor {
            number,
            device: self.device.load(Ordering::Relaxed),
            inode: self.inode.load(Ordering::Relaxed),
        })
    }
}
