//! A session, as the machine knows it.

use profiler_core::ids::{ScopeId, ThreadId};
use profiler_core::pipeline::registry::ThreadLife;
use profiler_core::pipeline::SessionId;
use profiler_core::profile::Marker;
use profiler_core::sampling::allocation_sampler::Window;
use profiler_core::session::plan::Demand;
use profiler_core::session::spec::Measures;

use crate::sampler::readings::Start;
use crate::threads;
use crate::vm::threads::RubyThread;

/// See the module.
#[derive(Debug)]
pub(crate) struct Active {
    pub(super) id: SessionId,
    /// Only these threads; all if nothing.
    pub(crate) threads: Option<Vec<ThreadId>>,
    /// Only inside this scope; everywhere if nothing.
    pub(super) scope: Option<ScopeId>,
    /// At labels or a scope.
    pub(super) looks_at_labels: bool,
    pub(super) fibers: bool,
    pub(crate) measures: Measures,
    pub(super) timeline: bool,
    pub(crate) interval_ns: u64,
    pub(super) every: Window,
    /// Why it samples no objects any more.
    pub(super) no_objects: Option<&'static str>,
    /// Sampled objects that did not fit into the table of live ones.
    pub(super) unfollowed: u64,
    pub(crate) paused: bool,
    /// The native thread that is inside the block which ends it, if there is one.
    pub(super) bound_to: Option<i32>,
    pub(super) start: Start,
    /// Why it ended before it was stopped.
    pub(super) given_up: Option<&'static str>,
    pub(super) markers: Vec<Marker>,
    pub(super) markers_refused: u64,
}

impl Active {
    /// The timers that it needs while it is not paused.
    pub(super) fn demand(&self) -> Demand<'_> {
        let Self { interval_ns, measures, threads, .. } = self;
        Demand {
            interval_ns: *interval_ns,
            cpu: measures.cpu,
            wall: measures.wall,
            threads: threads.as_deref(),
        }
    }

    /// Whether it is about that thread, among others.
    pub(crate) fn looks_at(&self, thread: ThreadId) -> bool {
        self.threads.as_ref().is_none_or(|threads| threads.contains(&thread))
    }

    /// Whether its result may name that thread: if waits for the GVL are measured, any may be to blame.
    pub(super) fn names(&self, thread: ThreadId) -> bool {
        self.measures.wall || self.looks_at(thread)
    }

    /// The threads of which it may speak and that live, with their clocks. `named` are the threads as Ruby knows them.
    pub(super) fn lives(&self, named: &[RubyThread]) -> Vec<ThreadLife> {
        threads::live()
            .filter(|state| self.names(state.id()))
            .map(|state| {
                let ruby = named.iter().find(|it| it.object == state.object());
                let info = threads::info(state, ruby.and_then(|it| it.name.clone()));
                threads::life(state, threads::cpu_ns(state), info)
            })
            .collect()
    }
}
