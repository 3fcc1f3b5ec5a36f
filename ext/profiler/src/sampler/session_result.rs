//! The result of a session when it stops, or so far.

use magnus::Ruby;
use profiler_core::pipeline::hub::Hub;
use profiler_core::profile::{Requests, Stats};
use profiler_core::result::taken::{Taken, Unresolved};

use crate::sampler::markers::Markers;
use crate::sampler::readings::Start;
use crate::sampler::tables;
use crate::sys::clock;
use crate::vm;
use crate::vm::turns::Pace;
use crate::vm::without_gvl::briefly_without_gvl;
use profiler_core::ticking::engine::Engine;

/// The result of a session, with what its header needs.
#[derive(Debug)]
pub(crate) struct SessionResult {
    pub(super) sums: Taken,
    pub(crate) facts: Facts,
    pub(super) hub: &'static Hub,
}

impl SessionResult {
    /// Copies what the sums need out of the tables of the process. These are renewed if they have become large.
    pub(crate) fn copy(self, ruby: &Ruby, pace: Pace) -> (Unresolved, Facts) {
        let Self { sums, facts, hub } = self;
        let copied = match pace {
            Pace::AtOnce => hub.copy(sums),
            Pace::Yielding => briefly_without_gvl(ruby, || hub.copy(sums)),
        };
        tables::renew(hub, copied.needed);
        (copied, facts)
    }
}

/// The facts of a session for the header of its profile.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) start: Start,
    pub(crate) end: Start,
    pub(crate) engine: Engine,
    pub(crate) given_up: Option<&'static str>,
    pub(crate) no_objects: Option<&'static str>,
    pub(crate) untracked: u64,
    /// The run delay of the threads and the throttling of the cgroup, ns.
    pub(crate) cpu_waits: (u64, u64),
    /// The longest interval at which it has ticked, ns.
    pub(crate) widest_ns: u64,
    pub(crate) markers: Markers,
    pub(crate) requests: Requests,
    /// The time in which objects were sampled, and all of it, where the two differ.
    pub(crate) object_windows: Option<(u64, u64)>,
}

impl Facts {
    /// The fate and the cost of the ticks, from the session's start to its end. Where the session covers the whole process,
    /// `unseen_cpu_ns` is all CPU time that the process used besides our own threads.
    pub(crate) fn cost(&self) -> Stats {
        let Self { start, end, .. } = self;
        let collector_ns = end.collector_ns.saturating_sub(start.collector_ns);
        let process_ns = start.process_cpu_ns.map_or(0, |then| clock::process_cpu_ns().saturating_sub(then));
        Stats {
            counts: end.counts.since(&start.counts),
            handler_ns: end.handler_ns.saturating_sub(start.handler_ns),
            collector_ns,
            unseen_cpu_ns: process_ns.saturating_sub(collector_ns),
            run_delay_ns: self.cpu_waits.0,
            throttled_ns: self.cpu_waits.1,
            vm_objects: start.vm_objects.map_or(0, |then| {
                // SAFETY: a session that is taken is taken with the GVL, and nothing of Ruby has run since.
                let all = unsafe { vm::allocations::total_allocated() }.saturating_sub(then);
                all.saturating_sub(end.own_objects.saturating_sub(start.own_objects))
            }),
            ..Stats::default()
        }
    }
}
