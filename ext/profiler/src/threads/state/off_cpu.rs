//! The time for which a thread was ready to run and had no CPU, as a clock.
//!
//! A thread that runs by the wall clock and uses no CPU either has none, or waits in C code while it holds
//! the GVL. The kernel's own count of the former distinguishes the two. The thread reads that count where a
//! record is taken and the two clocks differ. Any part of the count beyond that difference was the end of a
//! wait: the thread was woken, and waited for a CPU.
//!
//! If the kernel does not keep that count, the whole difference counts as ready.

use std::sync::atomic::{
    AtomicI32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

use profiler_core::record::WallTimes;

use crate::sys::run_delay;

/// The smallest difference in nanoseconds that is worth a reading. A reading takes a fiftieth of that.
const MIN_OFF_CPU_NS: u64 = 20_000;

/// The clock of one thread, with the readings that move it. The thread itself writes the clocks; the ticker
/// opens the file.
#[derive(Debug)]
pub(crate) struct OffCpu {
    /// The time for which the thread was ready and had no CPU.
    runnable_ns: AtomicU64,
    /// The thread's clocks at the last reading: running and GC, with and without a CPU; and CPU.
    ran_ns: AtomicU64,
    cpu_ns: AtomicU64,
    /// The kernel's count at the last reading.
    delay_ns: AtomicU64,
    /// The descriptor of that count plus one; 0 if it is not open.
    file: AtomicI32,
    identity: AtomicU64,
}

impl OffCpu {
    pub(super) const fn new() -> Self {
        Self {
            runnable_ns: AtomicU64::new(0),
            ran_ns: AtomicU64::new(0),
            cpu_ns: AtomicU64::new(0),
            delay_ns: AtomicU64::new(0),
            file: AtomicI32::new(0),
            identity: AtomicU64::new(0),
        }
    }

    /// Prepares for a new life: that of a thread whose CPU clock reads `cpu_ns`.
    pub(super) fn reset(&self, cpu_ns: u64) {
        self.close();
        self.runnable_ns.store(0, Relaxed);
        self.ran_ns.store(0, Relaxed);
        self.cpu_ns.store(cpu_ns, Relaxed);
    }

    /// Returns the clock in nanoseconds.
    ///
    /// # Signal safety
    /// One load.
    #[inline]
    pub(crate) fn runnable_ns(&self) -> u64 {
        self.runnable_ns.load(Relaxed)
    }

    /// Skips to these clocks of the thread, as its wall clock is measured from here on.
    pub(crate) fn skip_to(&self, walls: &WallTimes, cpu_ns: u64) {
        self.ran_ns.store(ran_ns(walls), Relaxed);
        self.cpu_ns.store(cpu_ns, Relaxed);
    }

    /// Returns whether the kernel's count can be read.
    pub(crate) fn is_open(&self) -> bool {
        self.file.load(Relaxed) != 0
    }

    /// Opens the kernel's count of the thread. For the ticker, while the thread is live.
    pub(crate) fn open(&self, native_id: i32) {
        let Some((fd, identity)) = run_delay::open(native_id) else { return };
        self.delay_ns.store(run_delay::read(fd).unwrap_or(0), Relaxed);
        self.identity.store(identity, Relaxed);
        // Release pairs with the Acquire in `read` and `close`: they see the identity, and the thread sees
        // the first reading.
        self.file.store(fd + 1, Release);
    }

    /// Closes the kernel's count, if it is open.
    pub(crate) fn close(&self) {
        let fd = self.file.swap(0, Acquire) - 1;
        if fd >= 0 {
            run_delay::close(fd, self.identity.load(Relaxed));
        }
    }

    /// Advances the clock if the thread's clocks differ by enough, or `always` is true. For the thread
    /// itself.
    ///
    /// # Signal safety
    /// Loads and stores, and at most one system call that does not block.
    #[inline]
    pub(crate) fn settle(&self, walls: &WallTimes, cpu_ns: u64, always: bool) {
        let ran_ns = ran_ns(walls);
        let since_ns = ran_ns.saturating_sub(self.ran_ns.load(Relaxed));
        let off_ns = since_ns.saturating_sub(cpu_ns.saturating_sub(self.cpu_ns.load(Relaxed)));
        if off_ns < MIN_OFF_CPU_NS && !always {
            return;
        }
        let ready_ns = match self.read() {
            Some(delay_ns) => off_ns.min(delay_ns.saturating_sub(self.delay_ns.swap(delay_ns, Relaxed))),
            None => off_ns,
        };
        self.runnable_ns.store(self.runnable_ns() + ready_ns, Relaxed);
        self.ran_ns.store(ran_ns, Relaxed);
        self.cpu_ns.store(cpu_ns, Relaxed);
    }

    fn read(&self) -> Option<u64> {
        let fd = self.file.load(Acquire) - 1;
        if fd < 0 {
            return None;
        }
        run_delay::read(fd)
    }
}

/// Returns the time that a thread has spent running and collecting garbage, with and without a CPU.
fn ran_ns(walls: &WallTimes) -> u64 {
    walls.running_ns + walls.gc_ns + walls.gc_off_cpu_ns
}
