//! A semaphore of this process, which a signal ends the wait for. Those of POSIX without a name do not exist here, so it is one
//! of Mach. It belongs to a process: in a forked child its name may be that of another one, and is not used.

use ::core::ffi::c_int;
use ::core::sync::atomic::{AtomicI32, AtomicU32, Ordering};

/// A thread that waited was interrupted (`KERN_ABORTED`).
const ABORTED: c_int = 14;
/// Threads go on in the order in which they came (`SYNC_POLICY_FIFO`).
const FIFO: c_int = 0;
/// The pause of a wait for a semaphore that is none, ns: its caller asks again.
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
    /// Its name for the kernel; 0 is none.
    name: AtomicU32,
    /// The process that has it.
    process: AtomicI32,
}

impl Semaphore {
    pub(crate) const fn new() -> Self {
        Self { name: AtomicU32::new(0), process: AtomicI32::new(0) }
    }

    /// Has it begin with nothing posted.
    ///
    /// # Safety
    /// It has its place in memory, where it stays, and nobody waits for it or posts it.
    pub(crate) unsafe fn init(&self) {
        let mut name = 0;
        // SAFETY: the name is ours to write, and stays 0 if it fails.
        unsafe { semaphore_create(mach_task_self_, &raw mut name, FIFO, 0) };
        self.process.store(process(), Ordering::Relaxed);
        // Release pairs with the Acquire in `name`: whose it is was stored before.
        self.name.store(name, Ordering::Release);
    }

    /// Lets one wait end.
    ///
    /// # Safety
    /// It is initialised.
    ///
    /// # Signal safety
    /// A trap into the kernel that waits for nobody, and leaves errno.
    pub(crate) unsafe fn post(&self) {
        // SAFETY: it is ours, or 0, which the kernel refuses.
        unsafe { semaphore_signal(self.name()) };
    }

    /// Waits until it is posted. False if a signal, or a failure, came first.
    ///
    /// # Safety
    /// It is initialised.
    pub(crate) unsafe fn wait(&self) -> bool {
        // SAFETY: it is ours, or 0, which the kernel refuses.
        let ended = unsafe { semaphore_wait(self.name()) };
        if ended != 0 && ended != ABORTED {
            let pause = ::libc::timespec { tv_sec: 0, tv_nsec: PAUSE_NS };
            // SAFETY: reads a struct of ours, and writes none.
            unsafe { ::libc::nanosleep(&raw const pause, ::core::ptr::null_mut()) };
        }
        ended == 0
    }

    /// Ends it.
    ///
    /// # Safety
    /// It is initialised, and nobody uses it any more.
    pub(crate) unsafe fn destroy(&self) {
        // SAFETY: it is ours, or 0, which the kernel refuses.
        unsafe { semaphore_destroy(mach_task_self_, self.name()) };
    }

    /// Its name in the process that has it; 0 in any other.
    fn name(&self) -> u32 {
        // Acquire pairs with the Release in `init`.
        match self.name.load(Ordering::Acquire) {
            name if self.process.load(Ordering::Relaxed) == process() => name,
            _ => 0,
        }
    }
}

fn process() -> i32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { ::libc::getpid() }
}
