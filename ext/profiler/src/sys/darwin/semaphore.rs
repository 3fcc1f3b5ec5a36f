//! A semaphore of this process; a signal ends a wait for it. POSIX semaphores without a name do not exist
//! here, so it is one of Mach. It belongs to one process: in a forked child its name may be that of another
//! semaphore, and is not used.

use ::core::ffi::c_int;
use ::core::sync::atomic::{AtomicI32, AtomicU32, Ordering};

/// A waiting thread was interrupted (`KERN_ABORTED`).
const ABORTED: c_int = 14;
/// Threads continue in the order in which they arrived (`SYNC_POLICY_FIFO`).
const FIFO: c_int = 0;
/// The pause, in nanoseconds, if a wait fails because there is no semaphore: the caller then checks again.
const PAUSE_NS: i64 = 1_000_000;

extern "C" {
    /// The name of this process for the kernel.
    static mach_task_self_: u32;
    fn semaphore_create(task: u32, semaphore: *mut u32, policy: c_int, value: c_int) -> c_int;
    fn semaphore_destroy(task: u32, semaphore: u32) -> c_int;
    fn semaphore_signal(semaphore: u32) -> c_int;
    fn semaphore_wait(semaphore: u32) -> c_int;
}

/// A semaphore. It stays where it was initialised.
#[derive(Debug)]
pub(crate) struct Semaphore {
    /// The semaphore's name for the kernel; 0 means none.
    name: AtomicU32,
    /// The process that owns the name.
    process: AtomicI32,
}

impl Semaphore {
    pub(crate) const fn new() -> Self {
        Self { name: AtomicU32::new(0), process: AtomicI32::new(0) }
    }

    /// Initialises the semaphore with a count of zero.
    ///
    /// # Safety
    /// The semaphore has its final place in memory, and no thread waits for it or posts it.
    pub(crate) unsafe fn init(&self) {
        let mut name = 0;
        // SAFETY: the name is ours to write, and stays 0 if the call fails.
        unsafe { semaphore_create(mach_task_self_, &raw mut name, FIFO, 0) };
        self.process.store(process(), Ordering::Relaxed);
        // Release pairs with the Acquire in `name`: the process was stored before.
        self.name.store(name, Ordering::Release);
    }

    /// Ends one wait.
    ///
    /// # Safety
    /// The semaphore is initialised.
    ///
    /// # Signal safety
    /// A trap into the kernel that does not block, and preserves errno.
    pub(crate) unsafe fn post(&self) {
        // SAFETY: the name is ours, or 0, which the kernel refuses.
        unsafe { semaphore_signal(self.name()) };
    }

    /// Waits until the semaphore is posted. Returns false if a signal arrived, or the call failed, before
    /// that.
    ///
    /// # Safety
    /// The semaphore is initialised.
    pub(crate) unsafe fn wait(&self) -> bool {
        // SAFETY: the name is ours, or 0, which the kernel refuses.
        let ended = unsafe { semaphore_wait(self.name()) };
        if ended != 0 && ended != ABORTED {
            let pause = ::libc::timespec { tv_sec: 0, tv_nsec: PAUSE_NS };
            // SAFETY: the call reads a local struct, and writes none.
            unsafe { ::libc::nanosleep(&raw const pause, ::core::ptr::null_mut()) };
        }
        ended == 0
    }

    /// Destroys the semaphore.
    ///
    /// # Safety
    /// The semaphore is initialised, and no longer used.
    pub(crate) unsafe fn destroy(&self) {
        // SAFETY: the name is ours, or 0, which the kernel refuses.
        unsafe { semaphore_destroy(mach_task_self_, self.name()) };
    }

    /// Returns the semaphore's name in the process that owns it; 0 in any other.
    fn name(&self) -> u32 {
        // Acquire pairs with the Release in `init`.
        match self.name.load(Ordering::Acquire) {
            name if self.process.load(Ordering::Relaxed) == process() => name,
            _ => 0,
        }
    }
}

fn process() -> i32 {
    // SAFETY: takes no argument and cannot fail.
    unsafe { ::libc::getpid() }
}
