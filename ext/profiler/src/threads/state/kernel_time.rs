//! The CPU time of a thread in the kernel, which its perf counter skips (`engine/perf.rs`).
//!
//! The counter ticks once per interval, but only outside of the kernel. So a tick that arrives after three
//! intervals means that the thread was in the kernel at the two before, and represents two intervals of time
//! there. That time does not belong to the stack of the tick. It is deferred to a tick of the thread's timer,
//! which also measures time in the kernel: it arrives as the thread leaves a system call, with the code that
//! made the call on the stack.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The deferred time in nanoseconds that a timer would have found in a system call by now. More than that was
/// spent in page faults, whose ticks look like those outside of the kernel.
const MAX_DEFERRED_NS: u64 = 16_000_000;

/// The time in the kernel that a tick represents.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settled {
    /// The CPU time in nanoseconds that the tick leaves to a later one.
    pub(crate) left_ns: u64,
    /// The number of intervals that the tick represents.
    pub(crate) intervals: u64,
}

/// The time in the kernel that is not attributed yet. The thread's own handlers and hooks write it.
#[derive(Debug)]
pub(crate) struct KernelTime {
    /// The thread's CPU clock in nanoseconds at the last interval that is accounted for; 0 if the counter has
    /// begun a new one.
    ticked_cpu_ns: AtomicU64,
    /// The time in nanoseconds that waits for a tick in a system call.
    deferred_ns: AtomicU64,
}

impl KernelTime {
    pub(super) const fn new() -> Self {
        Self { ticked_cpu_ns: AtomicU64::new(0), deferred_ns: AtomicU64::new(0) }
    }

    /// Prepares for a new life.
    pub(super) fn reset(&self) {
        self.restart(0);
        self.deferred_ns.store(0, Relaxed);
    }

    /// Restarts at that CPU clock: the time before it is accounted for, or the counter begins a new interval.
    /// For any thread.
    ///
    /// # Signal safety
    /// One store.
    #[inline]
    pub(crate) fn restart(&self, cpu_ns: u64) {
        self.ticked_cpu_ns.store(cpu_ns, Relaxed);
    }

    /// Returns the time in nanoseconds that waits for a tick in a system call.
    ///
    /// # Signal safety
    /// One load.
    #[inline]
    pub(crate) fn deferred_ns(&self) -> u64 {
        self.deferred_ns.load(Relaxed)
    }

    /// Notes a tick of the counter, which ticks at `interval_ns`. Returns the time in nanoseconds that it
    /// leaves to a later tick.
    ///
    /// # Signal safety
    /// Loads and stores.
    #[inline]
    pub(crate) fn tick(&self, cpu_ns: u64, interval_ns: u64) -> u64 {
        let before_ns = self.ticked_cpu_ns.load(Relaxed);
        self.restart(cpu_ns);
        if before_ns != 0 && interval_ns != 0 {
            let intervals = (cpu_ns.saturating_sub(before_ns) + interval_ns / 2) / interval_ns;
            let skipped_ns = intervals.saturating_sub(1) * interval_ns;
            self.deferred_ns.store(self.deferred_ns() + skipped_ns, Relaxed);
        }
        self.deferred_ns()
    }

    /// Handles a tick of the timer, which found the thread `in_call` or not. Returns `None` if there is no
    /// time to attribute.
    ///
    /// # Signal safety
    /// Loads and stores.
    pub(crate) fn settle(&self, cpu_ns: u64, interval_ns: u64, in_call: bool) -> Option<Settled> {
        let before_ns = self.ticked_cpu_ns.load(Relaxed);
        if before_ns == 0 || interval_ns == 0 {
            self.restart(cpu_ns);
            return None;
        }
        // Intervals without a tick so far were spent in the kernel too.
        let skipped_ns = cpu_ns.saturating_sub(before_ns) / interval_ns * interval_ns;
        let all_ns = self.deferred_ns() + skipped_ns;
        if all_ns == 0 || !in_call && all_ns < MAX_DEFERRED_NS {
            return None;
        }
        self.restart(before_ns + skipped_ns);
        self.deferred_ns.store(0, Relaxed);
        let left_ns = cpu_ns.saturating_sub(before_ns + skipped_ns);
        Some(Settled { left_ns, intervals: all_ns / interval_ns })
    }
}
