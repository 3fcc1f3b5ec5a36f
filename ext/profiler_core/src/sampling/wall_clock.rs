//! The wall clock of one thread, in four parts: running, waiting, waiting for the GVL, and collecting
//! garbage.
//!
//! Three of the parts are measured where they end; running is the rest. When the VM suspends a thread, this is
//! provisional: it was a wait only once the thread reports that it is ready, or runs again. If it is suspended
//! again instead, it has been running.
//!
//! A GC is divided by the thread's CPU clock into the time with a CPU and the time without. Otherwise nothing
//! would tell whether it was the GC or the running code around it that had no CPU. Until a GC ends it counts
//! as running, but no sample is taken during that time.
//!
//! The thread itself writes the clock, in hooks of the VM; only `ready_ns` is written by whoever wakes the
//! thread. The thread's own handler reads the clock, and may have interrupted a hook. So a part that has
//! ended is added first, and the open part is cleared afterwards. In between, running looks shorter than it
//! is, and catches up.
//!
//! Each part is a clock that only goes forward and is in every record, so sessions that run at different
//! times can read the same record. A tick advances the running clock, a wait record the two clocks of
//! waiting, and a GC record that of GC.

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{compiler_fence, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

use crate::record::{State, WallTimes};
use crate::sampling::poisson::{Intervals, PoissonSampler};

/// The measured wall clock of a thread. Times are on the monotonic clock, ns; 0 means never.
#[derive(Debug)]
pub struct WallClock {
    /// The start of the measurement.
    on_since_ns: AtomicU64,
    /// The length of earlier measurements.
    before_ns: AtomicU64,
    waiting: PoissonSampler,
    gvl: PoissonSampler,
    gc: PoissonSampler,
    intervals: Intervals,
    /// The time at which the VM suspended the thread: it released the GVL. 0 while it runs.
    suspended_ns: AtomicU64,
    /// The time from which the thread could have continued.
    ready_ns: AtomicU64,
    /// The time at which the thread began to collect garbage, and its CPU clock then.
    gc_since_ns: AtomicU64,
    gc_since_cpu_ns: AtomicU64,
    /// The time in garbage collections without a CPU.
    gc_off_cpu_ns: AtomicU64,
}

impl Default for WallClock {
    fn default() -> Self {
        Self::new()
    }
}

impl WallClock {
    /// Creates a clock that is not measured yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            on_since_ns: AtomicU64::new(0),
            before_ns: AtomicU64::new(0),
            waiting: PoissonSampler::new(),
            gvl: PoissonSampler::new(),
            gc: PoissonSampler::new(),
            intervals: Intervals::new(),
            suspended_ns: AtomicU64::new(0),
            ready_ns: AtomicU64::new(0),
            gc_since_ns: AtomicU64::new(0),
            gc_since_cpu_ns: AtomicU64::new(0),
            gc_off_cpu_ns: AtomicU64::new(0),
        }
    }

    /// Resets the clock for the next life of its thread, not measured yet.
    pub fn reset(&self) {
        self.on_since_ns.store(0, Relaxed);
        self.before_ns.store(0, Relaxed);
        self.gc_off_cpu_ns.store(0, Relaxed);
        self.samplers().for_each(PoissonSampler::reset);
        self.forget_open();
    }

    fn samplers(&self) -> impl Iterator<Item = &PoissonSampler> {
        [&self.waiting, &self.gvl, &self.gc].into_iter()
    }

    fn forget_open(&self) {
        for open in [&self.suspended_ns, &self.ready_ns, &self.gc_since_ns] {
            open.store(0, Relaxed);
        }
    }

    /// Returns whether the clock is measured.
    #[inline]
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.on_since_ns.load(Relaxed) != 0
    }

    /// Starts measuring at `now_ns`. A thread that is not `running` counts as waiting until it reports
    /// otherwise. If the clock is measured already, only the interval changes. Must be called with the GVL.
    pub fn turn_on(&self, now_ns: u64, interval_ns: u64, running: bool) {
        let changed = self.intervals.set_mean(interval_ns);
        if !self.is_on() {
            self.forget_open();
            if !running {
                self.suspended_ns.store(now_ns, Relaxed);
            }
            self.on_since_ns.store(now_ns, Relaxed);
        } else if !changed {
            return;
        }
        self.samplers().for_each(|it| it.draw(&self.intervals));
    }

    /// Changes the interval for thresholds drawn from now on.
    pub fn set_interval(&self, interval_ns: u64) {
        let _ = self.intervals.set_mean(interval_ns);
    }

    /// Starts measuring a thread that begins to run at `now_ns` and has waited for the GVL since `start_ns`.
    /// Returns the parts of that wait that should be recorded. `tick_ns` is as for [`WallClock::resume`].
    pub fn turn_on_at_start(&self, start_ns: u64, now_ns: u64, interval_ns: u64, tick_ns: u64) -> Due {
        self.turn_on(start_ns, interval_ns, true);
        let gvl = self.gvl.end_segment(now_ns - start_ns, &self.intervals);
        Due { waiting: false, gvl, ready_ns: start_ns, ticked: tick_ns >= start_ns }
    }

    /// Stops measuring. Must be called with the GVL, or on the thread itself.
    pub fn turn_off(&self, now_ns: u64) {
        if self.is_on() {
            let walls = self.read(now_ns);
            self.before_ns.store(walls.total_ns(), Relaxed);
            self.waiting.set(walls.waiting_ns);
            self.gvl.set(walls.gvl_ns);
            self.on_since_ns.store(0, Relaxed);
            self.forget_open();
        }
    }

    /// Returns the clocks at `now_ns`, with an open wait counted up to then.
    ///
    /// # Signal safety
    /// Loads.
    #[inline]
    #[must_use]
    pub fn read(&self, now_ns: u64) -> WallTimes {
        let on_since_ns = self.on_since_ns.load(Relaxed);
        let on_ns = if on_since_ns == 0 { 0 } else { now_ns.saturating_sub(on_since_ns) };
        let total_ns = self.before_ns.load(Relaxed) + on_ns;
        let (mut waiting_ns, mut gvl_ns) = (self.waiting.ns(), self.gvl.ns());
        let (suspended_ns, ready_ns) = (self.suspended_ns.load(Relaxed), self.ready_ns.load(Relaxed));
        if suspended_ns != 0 {
            let till_ns = if ready_ns >= suspended_ns { ready_ns } else { now_ns };
            waiting_ns += till_ns.saturating_sub(suspended_ns);
            gvl_ns += now_ns.saturating_sub(till_ns);
        }
        let (gc_ns, gc_off_cpu_ns) = (self.gc.ns(), self.gc_off_cpu_ns.load(Relaxed));
        let running_ns = total_ns.saturating_sub(waiting_ns + gvl_ns + gc_ns + gc_off_cpu_ns);
        WallTimes { running_ns, waiting_ns, gvl_ns, gc_ns, gc_off_cpu_ns }
    }

    /// Returns whether the VM has suspended the thread: it waits for an event or for the GVL.
    ///
    /// # Signal safety
    /// A load.
    #[inline]
    #[must_use]
    pub fn is_suspended(&self) -> bool {
        self.suspended_ns.load(Relaxed) != 0
    }

    /// Notes that the VM suspends the thread.
    #[inline]
    pub fn suspend(&self, now_ns: u64) {
        self.ready_ns.store(0, Relaxed);
        self.suspended_ns.store(now_ns, Relaxed);
    }

    /// Notes that the thread could continue if it had the GVL. Called by whoever wakes it.
    #[inline]
    pub fn ready(&self, now_ns: u64) {
        self.ready_ns.store(now_ns, Relaxed);
    }

    /// Notes that the thread continues. `tick_ns` is the time of the last tick of any thread with the GVL.
    /// Returns the parts of the wait ending here that should be recorded.
    #[inline]
    pub fn resume(&self, now_ns: u64, tick_ns: u64) -> Due {
        if !self.is_suspended() {
            return Due::default();
        }
        let WallTimes { waiting_ns, gvl_ns, .. } = self.read(now_ns);
        let waiting = self.waiting.end_segment(waiting_ns, &self.intervals);
        let gvl = self.gvl.end_segment(gvl_ns, &self.intervals);
        let ready_ns = self.gvl_wait_since_ns();
        let ticked = ready_ns != 0 && tick_ns >= ready_ns;
        compiler_fence(SeqCst);
        self.suspended_ns.store(0, Relaxed);
        Due { waiting, gvl, ready_ns, ticked }
    }

    /// Returns the time since which the thread has waited for the GVL; 0 if it does not wait for it.
    ///
    /// # Signal safety
    /// Two loads.
    #[inline]
    #[must_use]
    pub fn gvl_wait_since_ns(&self) -> u64 {
        let (suspended_ns, ready_ns) = (self.suspended_ns.load(Relaxed), self.ready_ns.load(Relaxed));
        if suspended_ns != 0 && ready_ns >= suspended_ns {
            ready_ns
        } else {
            0
        }
    }

    /// Returns the state of the thread, and the time since which it has been in that state, ns. The time is 0
    /// if it is not measured, as for running. The last part is true if the thread was in that state before the
    /// measurement started, which is then that time.
    #[must_use]
    pub fn doing(&self) -> (State, u64, bool) {
        match (self.gc_since_ns.load(Relaxed), self.gvl_wait_since_ns(), self.suspended_since_ns()) {
            (0, 0, 0) => (State::Running, 0, false),
            (0, 0, since_ns) => (State::Waiting, since_ns, since_ns == self.on_since_ns.load(Relaxed)),
            (0, since_ns, _) => (State::Gvl, since_ns, false),
            (since_ns, ..) => (State::Gc, since_ns, false),
        }
    }

    /// Returns the time at which the VM suspended the thread; 0 if it runs.
    #[inline]
    #[must_use]
    pub fn suspended_since_ns(&self) -> u64 {
        self.suspended_ns.load(Relaxed)
    }

    /// Returns whether the thread is collecting garbage.
    ///
    /// # Signal safety
    /// A load.
    #[inline]
    #[must_use]
    pub fn is_collecting(&self) -> bool {
        self.gc_since_ns.load(Relaxed) != 0
    }

    /// Notes that the thread begins to collect garbage. Its CPU clock must be read before `now_ns`.
    #[inline]
    pub fn enter_gc(&self, now_ns: u64, cpu_ns: u64) {
        self.gc_since_cpu_ns.store(cpu_ns, Relaxed);
        self.gc_since_ns.store(now_ns, Relaxed);
    }

    /// Notes that the thread has finished collecting garbage. Its CPU clock must be read after `now_ns`, so
    /// that the time that a reading takes never looks like time without a CPU. Returns true if this GC should
    /// be sampled.
    #[inline]
    pub fn exit_gc(&self, now_ns: u64, cpu_ns: u64) -> bool {
        let since_ns = self.gc_since_ns.swap(0, Relaxed);
        if since_ns == 0 {
            return false;
        }
        let used_ns = cpu_ns.saturating_sub(self.gc_since_cpu_ns.load(Relaxed));
        let off_ns = now_ns.saturating_sub(since_ns).saturating_sub(used_ns);
        self.gc_off_cpu_ns.store(self.gc_off_cpu_ns.load(Relaxed) + off_ns, Relaxed);
        self.gc.end_segment(self.gc.ns() + used_ns, &self.intervals)
    }

    /// Returns the clocks for the record of a segment that has just ended. `now` includes the whole segment,
    /// the result only as much as the record weighs. GC time that is left to later records counts as running
    /// here, so that the sum of the two is complete.
    #[inline]
    #[must_use]
    pub fn attributed(&self, now: &WallTimes) -> WallTimes {
        let [waiting_ns, gvl_ns, gc_ns] =
            [&self.waiting, &self.gvl, &self.gc].map(PoissonSampler::attributed_ns);
        let running_ns = now.running_ns + now.gc_ns.saturating_sub(gc_ns);
        WallTimes { running_ns, waiting_ns, gvl_ns, gc_ns, ..*now }
    }
}

/// The parts of a wait that should be recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Due {
    /// Whether to record the time that the thread waited for an event.
    pub waiting: bool,
    /// Whether to record the time that the thread then waited for the GVL.
    pub gvl: bool,
    /// The time from which the thread waited for the GVL, ns; 0 if it did not.
    pub ready_ns: u64,
    /// Whether a thread with the GVL ticked during the wait.
    pub ticked: bool,
}

#[cfg(all(test, not(loom)))]
mod tests;
