//! A semaphore of this process; a signal ends a wait for it.

use ::core::cell::UnsafeCell;

/// A semaphore. It stays where it was initialised.
#[derive(Debug)]
pub(crate) struct Semaphore(UnsafeCell<::libc::sem_t>);

// SAFETY: a semaphore is made to be shared by threads, and with handlers.
unsafe impl ::core::marker::Sync for Semaphore {}
// SAFETY: a semaphore is made to be shared by threads, and is owned by none.
unsafe impl ::core::marker::Send for Semaphore {}

impl Semaphore {
    pub(crate) const fn new() -> Self {
        // SAFETY: a semaphore is plain memory until it is initialised.
        Self(UnsafeCell::new(unsafe { ::core::mem::zeroed() }))
    }

    /// Initialises the semaphore with a count of zero.
    ///
    /// # Safety
    /// The semaphore has its final place in memory, and no thread waits for it or posts it.
    pub(crate) unsafe fn init(&self) {
        // SAFETY: the semaphore has its final place in memory, and no thread uses it yet.
        unsafe { ::libc::sem_init(self.0.get(), 0, 0) };
    }

    /// Ends one wait.
    ///
    /// # Safety
    /// The semaphore is initialised.
    ///
    /// # Signal safety
    /// `sem_post` is on POSIX's list, and preserves errno.
    pub(crate) unsafe fn post(&self) {
        // SAFETY: the caller passes an initialised semaphore.
        unsafe { ::libc::sem_post(self.0.get()) };
    }

    /// Waits until the semaphore is posted. Returns false if a signal arrived, or the call failed, before
    /// that.
    ///
    /// # Safety
    /// The semaphore is initialised.
    pub(crate) unsafe fn wait(&self) -> bool {
        // SAFETY: the caller passes an initialised semaphore.
        unsafe { ::libc::sem_wait(self.0.get()) == 0 }
    }

    /// Destroys the semaphore.
    ///
    /// # Safety
    /// The semaphore is initialised, and no longer used.
    pub(crate) unsafe fn destroy(&self) {
        // SAFETY: the semaphore is initialised, and no thread uses it any more.
        unsafe { ::libc::sem_destroy(self.0.get()) };
    }
}
