//! A thread's wall clocks, by whichever way this Ruby has: measured by hooks, or sampled.

use std::sync::atomic::Ordering;

use profiler_core::record::WallTimes;

use crate::sys::clock;
use crate::threads::state::{cpu_ns, ThreadState};
use crate::vm::gvl::HOOKS;

impl ThreadState {
    /// Its wall clocks at `now_ns`, when its CPU clock stands at `cpu_ns`.
    ///
    /// # Signal safety
    /// Loads.
    #[inline]
    pub(crate) fn walls_at(&self, now_ns: u64, cpu_ns: u64) -> WallTimes {
        if HOOKS {
            self.walls.read(now_ns)
        } else {
            self.sampled.read(now_ns, cpu_ns)
        }
    }

    /// Starts its wall clocks. `here` is whether it is the calling thread. With the GVL.
    pub(crate) fn walls_on(&self, interval_ns: u64, here: bool) {
        let now_ns = clock::monotonic_ns();
        if HOOKS {
            self.walls.turn_on(now_ns, interval_ns, here);
        } else {
            self.sampled.turn_on(now_ns, cpu_ns(self), interval_ns);
        }
    }

    /// Changes the interval of its wall clocks. Thresholds that were drawn already stay. Without the GVL.
    pub(crate) fn set_wall_interval(&self, interval_ns: u64) {
        if HOOKS {
            self.walls.set_interval(interval_ns);
        } else {
            self.sampled.set_interval(interval_ns);
        }
    }

    /// Stops its wall clocks.
    pub(crate) fn walls_off(&self) {
        let now_ns = clock::monotonic_ns();
        if HOOKS {
            self.walls.turn_off(now_ns);
        } else if self.sampled.is_on() {
            match clock::cpu_ns_of(self.native_id()) {
                Some(cpu_ns) => self.sampled.turn_off(now_ns, cpu_ns),
                None => self.sampled.end(now_ns, None),
            }
        }
    }

    /// Resets its wall clocks for a new life.
    pub(super) fn reset_walls(&self) {
        self.walls.reset();
        self.sampled.reset();
    }
}

/// Has all threads polled anew, for a session that has no sample yet of what they wait in.
pub(crate) fn repoll_all() {
    super::live().for_each(|state| state.sampled.poll_anew());
}

/// Whether a thread that a session profiles waits for the GVL.
///
/// # Signal safety
/// Loads, some for each thread.
pub(crate) fn any_waits_for_gvl() -> bool {
    super::live()
        .any(|state| state.walls.gvl_wait_since_ns() != 0 && !state.wanted.outside.load(Ordering::Relaxed))
}
