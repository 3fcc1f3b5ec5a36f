//! The totals of this process: what its sessions have recorded, and their overhead.

use std::sync::atomic::Ordering;

use profiler_core::record::counters::Counts;

use crate::engine::ticker;
use crate::sampler::cumulative::Cumulative;
use crate::sampler::fork::enter;
use crate::sampler::readings::COLLECTOR_NS;
use crate::sampler::state::{try_lock, Sampler};
use crate::shared::CAPTURE;
use crate::threads::{self, Registry};

/// The totals of this process, and its sessions at this instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Totals {
    /// The number of sessions with samples, including paused ones.
    pub(crate) sessions: usize,
    /// The finest interval in nanoseconds at which a session ticks; 0 if none does.
    pub(crate) interval_ns: u64,
    /// The fates of all ticks.
    pub(crate) counts: Counts,
    /// The time spent in signal handlers, in nanoseconds.
    pub(crate) handler_ns: u64,
    /// The CPU time of our own threads, in nanoseconds.
    pub(crate) threads_ns: u64,
}

/// Returns the totals now. Needs the GVL.
pub(crate) fn totals() -> Totals {
    let sampler = enter();
    if let Some(hub) = CAPTURE.hub() {
        while hub.drain_batch(&Registry) {} // records are counted as they are drained
    }
    let Cumulative { counts, handler_ns } = Cumulative::now().since(&sampler.inherited);
    Totals {
        sessions: sampler.ticks.iter().filter(|it| it.has_samples()).count(),
        interval_ns: sampler.finest_tick_ns(),
        counts,
        handler_ns,
        threads_ns: COLLECTOR_NS.load(Ordering::Relaxed) + ticker::used_ns() + threads::own::used_ns(),
    }
}

/// Returns the number of sessions with samples, for threads without the GVL; `None` while another thread
/// changes them.
pub(crate) fn sessions() -> Option<usize> {
    try_lock().map(|sampler| sampler.ticks.iter().filter(|it| it.has_samples()).count())
}

impl Sampler {
    fn finest_tick_ns(&self) -> u64 {
        let ticking = self.ticks.iter().filter(|it| !it.paused && it.has_ticks());
        ticking.map(|it| it.ticks_each_ns(&self.governor)).min().unwrap_or(0)
    }
}
