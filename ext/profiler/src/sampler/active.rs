//! The state that the sampler keeps of a running session.

use profiler_core::ids::{ScopeId, ThreadId};
use profiler_core::pipeline::registry::ThreadLife;
use profiler_core::pipeline::SessionId;
use profiler_core::profile::{LabelSet, Requests};
use profiler_core::sampling::allocation_sampler::Window;
use profiler_core::session::spec::Measures;
use profiler_core::ticking::governor::Governor;
use profiler_core::ticking::plan::Demand;

use crate::sampler::cpu_waits::CpuWaits;
use crate::sampler::markers::Markers;
use crate::sampler::object_windows::ObjectWindows;
use crate::sampler::readings::Start;
use crate::threads;
use crate::vm::threads::RubyThread;

/// See the module.
#[derive(Debug)]
pub(crate) struct Active {
    pub(super) id: SessionId,
    /// The threads that it profiles; all if `None`.
    pub(crate) threads: Option<Vec<ThreadId>>,
    /// The scope that it is limited to; everywhere if `None`.
    pub(super) scope: Option<ScopeId>,
    /// Whether it selects samples by labels or by a scope.
    pub(super) is_selective: bool,
    pub(super) fibers: bool,
    pub(crate) measures: Measures,
    pub(super) timeline: bool,
    pub(crate) interval_ns: u64,
    /// The largest share of the process's CPU time that sessions may take, if it has one.
    pub(super) max_overhead: Option<f64>,
    /// The longest interval at which it has ticked, ns.
    pub(super) widest_ns: u64,
    pub(super) every: Window,
    /// The windows in which it samples objects, unless it does so all the time.
    pub(super) windows: Option<ObjectWindows>,
    /// The reason why it samples no objects any more, if there is one.
    pub(super) no_objects: Option<&'static str>,
    /// Sampled objects that did not fit into the table of live ones.
    pub(super) untracked: u64,
    pub(crate) paused: bool,
    /// Whether it has samples in its slices alone.
    pub(super) is_sliced: bool,
    /// Whether it ends with its last slice, and gets no more.
    pub(super) ends_with_slices: bool,
    /// The native thread inside the block whose end stops the session, if it is bound to one.
    pub(super) bound_to: Option<i32>,
    pub(super) start: Start,
    /// The kernel's counts of waits for a CPU since then.
    pub(super) cpu_waits: CpuWaits,
    /// The reason why it was given up before it was stopped, if it was.
    pub(super) given_up: Option<&'static str>,
    pub(super) markers: Markers,
    /// The labels that requests must have to count.
    pub(super) labels: LabelSet,
    pub(super) requests: Requests,
}

impl Active {
    /// The timers that the session needs while it is not paused.
    pub(super) fn demand(&self, governor: &Governor) -> Demand<'_> {
        let Self { measures, threads, .. } = self;
        Demand {
            interval_ns: self.ticks_each_ns(governor),
            cpu: measures.cpu,
            wall: measures.wall,
            threads: threads.as_deref(),
        }
    }

    /// Whether it samples objects while it is not paused.
    pub(super) fn samples_objects(&self) -> bool {
        self.measures.objects() && self.no_objects.is_none() && self.windows.is_none_or(|it| it.is_open())
    }

    /// Whether it profiles that thread.
    pub(crate) fn profiles(&self, thread: ThreadId) -> bool {
        self.threads.as_ref().is_none_or(|threads| threads.contains(&thread))
    }

    /// Whether its result may name that thread. Where waits for the GVL are measured, any thread may be blamed for one.
    pub(super) fn may_name(&self, thread: ThreadId) -> bool {
        self.measures.wall || self.profiles(thread)
    }

    /// The live threads that its result may name, with their clocks. `named` are the threads as Ruby lists them.
    pub(super) fn thread_lives(&self, named: &[RubyThread]) -> Vec<ThreadLife> {
        threads::live()
            .filter(|state| self.may_name(state.id()))
            .map(|state| {
                let ruby = named.iter().find(|it| it.object == state.object());
                let info = threads::info(state, ruby.and_then(|it| it.name.clone()));
                threads::life(state, threads::cpu_ns(state), info)
            })
            .collect()
    }
}
