//! The request of a session for ticks: of the timers of threads, and of the hook on allocation.

use profiler_core::ids::ThreadId;
use profiler_core::pipeline::registry::ThreadLife;
use profiler_core::pipeline::SessionId;
use profiler_core::sampling::allocation_sampler::Window;
use profiler_core::session::spec::Measures;
use profiler_core::ticking::governor::Governor;
use profiler_core::ticking::plan::Demand;

use crate::labels::Counted;
use crate::sampler::cpu_waits::CpuWaits;
use crate::sampler::object_windows::ObjectWindows;
use crate::sampler::readings::ProcessReadings;
use crate::threads;
use crate::vm::threads::RubyThread;

/// The ticks that one session requests, for its own collection and for its slices.
#[derive(Debug)]
pub(crate) struct TickRequest {
    /// The session, whose collection gets all of these ticks. Slices are other collections, which get some of
    /// them.
    pub(super) id: SessionId,
    /// The threads that tick; `None` means all.
    pub(crate) threads: Option<Vec<ThreadId>>,
    /// The counts of this session among those that select samples by labels or by a scope, and among those
    /// that record fibers.
    pub(super) _counted: [Option<Counted>; 2],
    pub(crate) measures: Measures,
    pub(super) timeline: bool,
    pub(crate) interval_ns: u64,
    /// The largest share of the process's CPU time that the ticks may take, if there is one.
    pub(super) max_overhead: Option<f64>,
    pub(super) every: Window,
    /// The windows in which objects are sampled, unless they are sampled all the time.
    pub(super) windows: Option<ObjectWindows>,
    /// The reason why no objects are sampled any more, if there is one.
    pub(super) no_objects: Option<&'static str>,
    /// The number of sampled objects that did not fit into the table of live ones.
    pub(super) untracked: u64,
    pub(crate) paused: bool,
    /// True if only slices have samples.
    pub(super) is_sliced: bool,
    /// True if the ticks end with the last slice, and get no more slices.
    pub(super) ends_with_slices: bool,
    /// The kernel's counts of waits for a CPU since the start, or the last rotation.
    pub(super) cpu_waits: CpuWaits,
    /// The reason why the ticks were given up before they were stopped, if they were.
    pub(super) given_up: Option<&'static str>,
}

impl TickRequest {
    /// Returns the timers that are needed while the ticks are not paused.
    pub(super) fn demand(&self, governor: &Governor) -> Demand<'_> {
        let Self { measures, threads, .. } = self;
        Demand {
            interval_ns: self.ticks_each_ns(governor),
            cpu: measures.cpu,
            wall: measures.wall,
            threads: threads.as_deref(),
        }
    }

    /// Continues from the end of what was taken, with these counts of waits for a CPU.
    pub(super) fn rotate(&mut self, end: &ProcessReadings, cpu_waits: CpuWaits) {
        self.cpu_waits = cpu_waits;
        self.windows = self.windows.map(|it| it.next(end.monotonic_ns));
    }

    /// Returns whether threads tick for the session while it is not paused.
    pub(super) fn has_ticks(&self) -> bool {
        self.measures.timed() && self.interval_ns > 0
    }

    /// Returns whether the collections get samples: those of a session that only watches do not.
    pub(super) fn has_samples(&self) -> bool {
        self.has_ticks() || self.measures.objects() || self.measures.native
    }

    /// Returns whether objects are sampled while the ticks are not paused.
    pub(super) fn samples_objects(&self) -> bool {
        self.measures.objects() && self.no_objects.is_none() && self.windows.is_none_or(|it| it.is_open())
    }

    /// Returns whether that thread ticks.
    pub(crate) fn profiles(&self, thread: ThreadId) -> bool {
        self.threads.as_ref().is_none_or(|threads| threads.contains(&thread))
    }

    /// Returns whether a result may name that thread. If waits for the GVL are measured, any thread may be
    /// blamed for one.
    pub(super) fn may_name(&self, thread: ThreadId) -> bool {
        self.measures.wall || self.profiles(thread)
    }

    /// Returns the live threads that a result may name, with their clocks. `named` are the threads as Ruby
    /// lists them.
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
