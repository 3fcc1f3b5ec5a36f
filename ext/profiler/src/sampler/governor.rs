//! The governor of sessions with a `max_overhead`: where its readings come from, and what it changes.
//!
//! A few times a second it compares the profiler's own use with that of the process. The own use is the time
//! of handlers and hooks, the CPU time of our native threads, and an estimate for each tick. The CPU time of
//! our Ruby threads is in the overhead that the header states, but not here: they build and deliver profiles,
//! and no interval would lessen that.
//!
//! Use beyond the limit is a debt, which outlives the session. A thread gets its new interval after its next
//! tick, so threads that sleep cost nothing, however many there are.

use std::sync::atomic::Ordering;

use profiler_core::ticking::governor::{Governor, Readings};

use crate::engine::{tick, ticker};
use crate::sampler::readings::COLLECTOR_NS;
use crate::sampler::state::{try_lock, Sampler};
use crate::sampler::tick_request::TickRequest;
use crate::sampler::timers;
use crate::sys::clock;
use crate::threads;

/// The CPU time in nanoseconds that the kernel takes to deliver a tick, which no clock that we read shows.
/// The value is that of a guest of a hypervisor, where timer interrupts are expensive (bench/README.md). On
/// other machines sessions use less than they may.
const DELIVERY_NS: u64 = 20_000;
/// The additional time in nanoseconds if the ticker samples wall clocks: its ticks wake threads that wait
/// (bench/README.md).
const WAKING_NS: u64 = 60_000;

fn readings() -> Readings {
    Readings {
        monotonic_ns: clock::monotonic_ns(),
        process_ns: clock::process_cpu_ns(),
        own_ns: threads::handler_ns()
            + threads::ticks() * DELIVERY_NS
            + tick::wall_ticks() * WAKING_NS
            + COLLECTOR_NS.load(Ordering::Relaxed)
            + ticker::used_ns(),
    }
}

/// Widens or narrows the intervals of governed sessions, if that is due. For the collector, which needs no
/// GVL for it.
pub(super) fn govern() {
    // The lock is held so that no session starts or stops meanwhile, and no process forks.
    let Some(mut sampler) = try_lock() else { return };
    let Some((_, finest_ns)) = sampler.governed else { return };
    if sampler.governor.step(readings(), finest_ns) {
        sampler.note_widening();
    }
    timers::rearm(&sampler.plan());
}

impl Sampler {
    /// Returns the smallest `max_overhead` and the finest interval of the sessions that have one, if there
    /// are any.
    fn find_governed(&self) -> Option<(f64, u64)> {
        let governed = self.ticks.iter().filter(|it| !it.paused);
        governed
            .filter_map(|it| Some((it.max_overhead?, it.interval_ns)))
            .reduce(|one, other| (one.0.min(other.0), one.1.min(other.1)))
    }

    /// Starts or stops governing, after sessions have started or ended.
    pub(super) fn regovern(&mut self) {
        let governed = self.find_governed();
        if governed != self.governed {
            let now = readings();
            if self.governed.is_some() {
                self.governor.end(now);
            }
            if let Some((share, finest_ns)) = governed {
                self.governor.begin(share, finest_ns, now);
            }
            self.governed = governed;
        }
        self.note_widening();
    }

    /// Resets the governor in a forked child, which has neither used any time nor owes any.
    pub(super) fn govern_child(&mut self) {
        self.governor = Governor::new();
        self.governed = None;
    }

    fn note_widening(&mut self) {
        let governor = self.governor;
        for (ticks, collection) in self.each().filter(|(ticks, _)| !ticks.paused) {
            collection.widest_ns = collection.widest_ns.max(ticks.ticks_each_ns(&governor));
        }
    }
}

impl TickRequest {
    /// Returns the interval in nanoseconds at which these ticks come.
    pub(super) fn ticks_each_ns(&self, governor: &Governor) -> u64 {
        match self.max_overhead {
            Some(_) => governor.widened(self.interval_ns),
            None => self.interval_ns,
        }
    }
}
