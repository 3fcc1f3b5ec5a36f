//! The time during which a thread has been profiled, and how much of that time it has run.

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// Two clocks that stand still while nobody profiles. Times are in ns. They are changed with the GVL, or for
/// a thread that has ended, and may be read by anybody.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    /// The start of the wall clock on the monotonic clock, without the pauses; 0 while nobody profiles.
    origin_ns: AtomicU64,
    /// The start of the other clock on the thread's CPU clock.
    origin_cpu_ns: AtomicU64,
    /// The readings of both clocks while nobody profiles.
    was_ns: AtomicU64,
    was_cpu_ns: AtomicU64,
    ended: AtomicBool,
}

impl Clocks {
    pub(super) const fn new() -> Self {
        Self {
            origin_ns: AtomicU64::new(0),
            origin_cpu_ns: AtomicU64::new(0),
            was_ns: AtomicU64::new(0),
            was_cpu_ns: AtomicU64::new(0),
            ended: AtomicBool::new(false),
        }
    }

    pub(super) fn reset(&self) {
        for clock in [&self.origin_ns, &self.was_ns, &self.was_cpu_ns] {
            clock.store(0, Relaxed);
        }
        self.ended.store(false, Relaxed);
    }

    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.origin_ns.load(Relaxed) != 0
    }

    /// Starts the clocks, unless they already run or the thread has ended. Returns true if it started them.
    pub(super) fn start(&self, now_ns: u64, cpu_ns: u64) -> bool {
        if self.is_on() || self.ended.load(Relaxed) {
            return false;
        }
        self.origin_cpu_ns.store(cpu_ns.wrapping_sub(self.was_cpu_ns.load(Relaxed)), Relaxed);
        // Release pairs with the Acquire in `read`.
        self.origin_ns.store(now_ns.saturating_sub(self.was_ns.load(Relaxed)).max(1), Release);
        true
    }

    pub(super) fn stop(&self, now_ns: u64, cpu_ns: u64) {
        if self.is_on() {
            let (total_ns, busy_ns) = self.read(now_ns, cpu_ns);
            self.was_ns.store(total_ns, Relaxed);
            self.was_cpu_ns.store(busy_ns, Relaxed);
            // Release pairs with the Acquire in `read`.
            self.origin_ns.store(0, Release);
        }
    }

    /// Stops the clocks for good.
    pub(super) fn end(&self, now_ns: u64, cpu_ns: u64) {
        self.ended.store(true, Relaxed);
        self.stop(now_ns, cpu_ns);
    }

    /// Reads the wall clock and the CPU clock, which is never larger.
    #[inline]
    pub(super) fn read(&self, now_ns: u64, cpu_ns: u64) -> (u64, u64) {
        // Acquire pairs with the Releases of `start` and `stop`: the values that belong to it were stored
        // before.
        match self.origin_ns.load(Acquire) {
            0 => (self.was_ns.load(Relaxed), self.was_cpu_ns.load(Relaxed)),
            origin_ns => {
                let total_ns = now_ns.saturating_sub(origin_ns);
                let busy_ns = cpu_ns.saturating_sub(self.origin_cpu_ns.load(Relaxed));
                (total_ns, busy_ns.min(total_ns))
            }
        }
    }
}
