//! The time that a thread spends in our handlers and hooks, and the time that it must run between two ticks.
//!
//! The overhead of a handler is its wall time, or its CPU time if the wall time is long. A handler reads the
//! thread's CPU clock, which brings the kernel to a point where it may let another process run. On a busy
//! machine this turned a wall time of 5 us into 200 us.
//!
//! If the handler took more than a quarter of what its thread has run since the last one, the next tick is
//! postponed (`engine/progress.rs`). That happens with a stack of thousands of frames, or on a slow machine.
//! The thread first runs four times as long as the handler took.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::sys::clock;

/// The wall time from which on the CPU time of a handler counts instead, as another thread may have had the
/// processor meanwhile. When the CPU clock is read, the kernel notices that it is another thread's turn.
const LONG_HANDLER_NS: u64 = 20_000;
/// The shortest time that a thread runs, as a multiple of the time that its handler takes. So the handler
/// takes a fifth of the thread's time at most, however deep its stack and however slow the machine.
const RUN_FOR_HANDLER: u64 = 4;

/// The time of a thread's handlers. Only the thread itself writes it, and a handler does not interrupt
/// itself. So a load and a store are enough, neither of which waits.
#[derive(Debug)]
pub(crate) struct HandlerTime {
    /// The time in nanoseconds that the state's native threads have spent in the handler. Never reset, so
    /// that the sum over all states only grows.
    all_ns: AtomicU64,
    /// The part of that time in nanoseconds which was counted when former lives ended.
    retired_ns: AtomicU64,
    /// The thread's CPU clock when it was last read for a record, in nanoseconds.
    recorded_cpu_ns: AtomicU64,
    /// The time at which the thread's handler last ended, on the monotonic clock, in nanoseconds.
    ended_ns: AtomicU64,
    /// The time in nanoseconds that the thread must run before its next tick, if that is not the interval;
    /// else 0.
    run_ns: AtomicU64,
}

impl HandlerTime {
    pub(super) const fn new() -> Self {
        Self {
            all_ns: AtomicU64::new(0),
            retired_ns: AtomicU64::new(0),
            recorded_cpu_ns: AtomicU64::new(0),
            ended_ns: AtomicU64::new(0),
            run_ns: AtomicU64::new(0),
        }
    }

    /// Prepares for a new life: that of a thread whose CPU clock reads `cpu_ns`.
    pub(super) fn reset(&self, cpu_ns: u64) {
        self.recorded_cpu_ns.store(cpu_ns, Relaxed);
        self.ended_ns.store(0, Relaxed);
        self.run_ns.store(0, Relaxed);
    }

    /// Returns the handler time of this life in nanoseconds.
    pub(in crate::threads) fn own_ns(&self) -> u64 {
        self.all_ns.load(Relaxed).wrapping_sub(self.retired_ns.load(Relaxed))
    }

    /// Ends a life, whose time the caller has counted.
    pub(in crate::threads) fn retire(&self) {
        self.retired_ns.store(self.all_ns.load(Relaxed), Relaxed);
    }

    /// Notes the CPU clock of a record.
    ///
    /// # Signal safety
    /// One store.
    #[inline]
    pub(crate) fn note_cpu_ns(&self, cpu_ns: u64) {
        self.recorded_cpu_ns.store(cpu_ns, Relaxed);
    }

    /// Adds the time of a handler or hook that began at `begun_ns` and ends at `now_ns`, on the monotonic
    /// clock. Returns that time in nanoseconds.
    ///
    /// # Signal safety
    /// Loads and stores, and a reading of the thread's CPU clock if the time was long.
    #[inline]
    pub(crate) fn add_span(&self, begun_ns: u64, now_ns: u64) -> u64 {
        let mut took_ns = now_ns.wrapping_sub(begun_ns);
        if took_ns > LONG_HANDLER_NS {
            let used_ns = clock::thread_cpu_ns().saturating_sub(self.recorded_cpu_ns.load(Relaxed));
            took_ns = took_ns.min(used_ns);
        }
        self.add(took_ns);
        took_ns
    }

    /// Adds to the time spent in handlers and hooks.
    ///
    /// # Signal safety
    /// A load and a store.
    #[inline]
    pub(crate) fn add(&self, ns: u64) {
        self.all_ns.store(self.all_ns.load(Relaxed).wrapping_add(ns), Relaxed);
    }

    /// Returns the time in nanoseconds that the thread must run before its next tick, if a handler that began
    /// at `begun_ns` and took `took_ns` ends now. Returns `None` if the timer ensures that by itself: the
    /// interval is long enough, it was kept before this handler, and it is the one that is set. If ticks come
    /// `at_random` instants of their intervals, two may be close together, as others are far apart. Then it
    /// is enough that the interval is long.
    ///
    /// # Signal safety
    /// Loads and stores.
    #[inline]
    pub(crate) fn min_run_ns(
        &self,
        begun_ns: u64,
        now_ns: u64,
        took_ns: u64,
        interval_ns: u64,
        at_random: bool,
    ) -> Option<u64> {
        let ran_ns = begun_ns.saturating_sub(self.ended_ns.load(Relaxed));
        self.ended_ns.store(now_ns, Relaxed);
        let least_ns = took_ns * RUN_FOR_HANDLER;
        if at_random {
            return (least_ns > interval_ns / 2).then_some(least_ns);
        }
        let run_ns = interval_ns.max(least_ns);
        let unchanged = run_ns == interval_ns && self.run_ns.load(Relaxed) == 0;
        if unchanged && ran_ns >= interval_ns / 4 * 3 {
            return None;
        }
        self.run_ns.store(if run_ns == interval_ns { 0 } else { run_ns }, Relaxed);
        Some(run_ns)
    }
}
