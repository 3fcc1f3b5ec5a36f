//! The totals of this process: what its sessions have recorded, and what they cost.

use std::sync::atomic::Ordering;

use profiler_core::record::counters::Counts;

use crate::engine::ticker;
use crate::sampler::cumulative::Cumulative;
use crate::sampler::fork::enter;
use crate::sampler::readings::COLLECTOR_NS;
use crate::sampler::state::{try_lock, Sampler};
use crate::threads;

/// The totals of this process, and its sessions at this instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Totals {
    /// Sessions with samples, paused ones too.
    pub(crate) sessions: usize,
    /// The finest interval at which a session ticks, ns; 0 if none does.
    pub(crate) interval_ns: u64,
    /// The fates of all ticks.
    pub(crate) counts: Counts,
    /// Time spent in signal handlers, ns.
    pub(crate) handler_ns: u64,
    /// CPU time of our own threads, ns.
    pub(crate) threads_ns: u64,
}

/// The totals now. Needs the GVL.
pub(crate) fn totals() -> Totals {
    let sampler = enter();
    let Cumulative { counts, handler_ns } = Cumulative::now().since(&sampler.inherited);
    Totals {
        sessions: sampler.ticks.iter().filter(|it| it.has_samples()).count(),
        interval_ns: sampler.finest_tick_ns(),
        counts,
        handler_ns,
        threads_ns: COLLECTOR_NS.load(Ordering::Relaxed) + ticker::used_ns() + threads::own::used_ns(),
    }
}

/// The number of sessions with samples, for threads without the GVL: `None` while another thread changes them.
pub(crate) fn sessions() -> Option<usize> {
    try_lock().map(|sampler| sampler.ticks.iter().filter(|it| it.has_samples()).count())
}

impl Sampler {
    fn finest_tick_ns(&self) -> u64 {
        let ticking = self.ticks.iter().filter(|it| !it.paused && it.has_ticks());
        ticking.map(|it| it.ticks_each_ns(&self.governor)).min().unwrap_or(0)
    }
}
