//! A thread's wall clocks, by whichever method this Ruby allows: measured by hooks, or sampled.

use std::sync::atomic::Ordering;

use profiler_core::record::WallTimes;

use crate::before_3_3;
use crate::sys::clock;
use crate::threads::state::{cpu_ns, ThreadState};

impl ThreadState {
    /// Returns the thread's wall clocks at `now_ns`, when its CPU clock reads `cpu_ns`.
    ///
    /// # Signal safety
    /// Loads.
    #[inline]
    pub(crate) fn walls_at(&self, now_ns: u64, cpu_ns: u64) -> WallTimes {
        if before_3_3::NEEDED {
            self.polled.read(now_ns, cpu_ns)
        } else {
            self.walls.read(now_ns)
        }
    }

    /// Starts the thread's wall clocks. `here` is true for the calling thread. With the GVL.
    pub(crate) fn walls_on(&self, interval_ns: u64, here: bool) {
        let now_ns = clock::monotonic_ns();
        if before_3_3::NEEDED {
            self.polled.turn_on(now_ns, cpu_ns(self), interval_ns);
        } else {
            if !self.walls.is_on() {
                self.off_cpu.skip_to(&self.walls.read(now_ns), cpu_ns(self));
            }
            self.walls.turn_on(now_ns, interval_ns, here);
        }
    }

    /// Changes the interval of the thread's wall clocks. Thresholds that were already drawn stay. Without the
    /// GVL.
    pub(crate) fn set_wall_interval(&self, interval_ns: u64) {
        if before_3_3::NEEDED {
            self.polled.set_interval(interval_ns);
        } else {
            self.walls.set_interval(interval_ns);
        }
    }

    /// Stops the thread's wall clocks.
    pub(crate) fn walls_off(&self) {
        let now_ns = clock::monotonic_ns();
        if before_3_3::NEEDED {
            self.polled.turn_off(now_ns, || clock::cpu_ns_of(self.native_id()));
        } else {
            self.walls.turn_off(now_ns);
        }
    }

    /// Resets the thread's wall clocks for a new life.
    pub(super) fn reset_walls(&self) {
        self.walls.reset();
        self.polled.reset();
    }
}

/// Requests a new poll of all threads, for a session that has no sample of their waits yet.
pub(crate) fn repoll_all() {
    super::live().for_each(|state| state.polled.poll_anew());
}

/// Returns whether a thread that a session profiles waits for the GVL.
///
/// # Signal safety
/// Loads, a few for each thread.
pub(crate) fn any_waits_for_gvl() -> bool {
    super::live().any(|state| {
        state.walls.gvl_wait_since_ns() != 0 && !state.wanted.only_blamed.load(Ordering::Relaxed)
    })
}
