//! A semaphore of this process, which a signal ends the wait for.

use ::core::cell::UnsafeCell;

/// A semaphore. It stays where it was initialised.
#[derive(Debug)]
pub(crate) struct Semaphore(UnsafeCell<::libc::sem_t>);

// SAFETY: a semaphore is made for several threads, and for handlers.
unsafe impl ::core::marker::Sync for Semaphore {}
// SAFETY: as above.
unsafe impl ::core::marker::Send for Semaphore {}

impl Semaphore {
    pub(crate) const fn new() -> Self {
        // SAFETY: a semaphore is plain memory until it is initialised.
        Self(UnsafeCell::new(unsafe { ::core::mem::zeroed() }))
    }

    /// Has it begin with nothing posted.
    ///
    /// # Safety
    /// It has its place in memory, where it stays, and nobody waits for it or posts it.
    pub(crate) unsafe fn init(&self) {
        // SAFETY: as promised.
        unsafe { ::libc::sem_init(self.0.get(), 0, 0) };
    }

    /// Lets one wait end.
    ///
    /// # Safety
    /// It is initialised.
    ///
    /// # Signal safety
    /// `sem_post` is on POSIX's list, and leaves errno.
    pub(crate) unsafe fn post(&self) {
        // SAFETY: as promised.
        unsafe { ::libc::sem_post(self.0.get()) };
    }

    /// Waits until it is posted. False if a signal, or a failure, came first.
    ///
    /// # Safety
    /// It is initialised.
    pub(crate) unsafe fn wait(&self) -> bool {
        // SAFETY: as promised.
        unsafe { ::libc::sem_wait(self.0.get()) == 0 }
    }

    /// Ends it.
    ///
    /// # Safety
    /// It is initialised, and nobody uses it any more.
    pub(crate) unsafe fn destroy(&self) {
        // SAFETY: as promised.
        unsafe { ::libc::sem_destroy(self.0.get()) };
    }
}
