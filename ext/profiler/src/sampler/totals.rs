//! The totals of this process: what its sessions have recorded, and what they cost.

use std::sync::atomic::{AtomicU64, Ordering};

use profiler_core::record::counters::Counts;

use crate::engine::ticker;
use crate::sampler::fork::enter;
use crate::sampler::readings::COLLECTOR_NS;
use crate::sampler::state::Sampler;
use crate::shared::CAPTURE;
use crate::threads;

/// The totals of this process, and its sessions at this instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Totals {
    /// Sessions, paused ones too.
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

/// The part of the totals that is the parent's, in a forked child: those counters go on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Inherited {
    counts: Counts,
    handler_ns: u64,
}

impl Inherited {
    /// None of it, in a process that was not forked.
    pub(super) const fn nothing() -> Self {
        Self { counts: Counts::nothing(), handler_ns: 0 }
    }

    /// All of it up to now. Loads alone: a child that was just forked calls it.
    pub(super) fn now() -> Self {
        Self { counts: counts(), handler_ns: handler_ns() }
    }
}

/// The totals now. Needs the GVL.
pub(crate) fn totals() -> Totals {
    let sampler = enter();
    let Inherited { counts: inherited, handler_ns: inherited_ns } = sampler.inherited;
    Totals {
        sessions: sampler.sessions.len(),
        interval_ns: sampler.finest_tick_ns(),
        counts: counts().since(&inherited),
        handler_ns: handler_ns().saturating_sub(inherited_ns),
        threads_ns: COLLECTOR_NS.load(Ordering::Relaxed) + ticker::used_ns() + threads::own::used_ns(),
    }
}

fn counts() -> Counts {
    CAPTURE.hub().map(|hub| hub.counters.read()).unwrap_or_default()
}

/// Time spent in signal handlers. A state that is freed meanwhile counts twice for an instant. So the highest reading holds until
/// the others have come up to it: a counter that fell would be taken for one that began anew.
fn handler_ns() -> u64 {
    static HIGHEST: AtomicU64 = AtomicU64::new(0);
    let now_ns = threads::handler_ns();
    HIGHEST.fetch_max(now_ns, Ordering::Relaxed).max(now_ns)
}

impl Sampler {
    fn finest_tick_ns(&self) -> u64 {
        let ticking = self.sessions.iter().filter(|it| !it.paused && it.measures.timed());
        ticking.map(|it| it.ticks_each_ns(&self.governor)).min().unwrap_or(0)
    }
}
