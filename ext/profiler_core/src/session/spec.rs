//! The definition of a session.

use crate::ids::{ScopeId, ThreadId};
use crate::profile::LabelSet;
use crate::profile::{SampleType, Weights};
use crate::record::State;
use crate::session::key::{Key, RowSums};

/// The measures of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measures {
    /// Whether to measure the CPU clock of each thread.
    pub cpu: bool,
    /// Whether to measure the wall clock of each thread, in its parts.
    pub wall: bool,
    /// Whether running without a CPU is a separate state of the wall clock. Only where waits are measured.
    pub runnable: bool,
    /// Whether to measure allocated objects.
    pub allocations: bool,
    /// Whether to measure live objects.
    pub heap: bool,
    /// Whether to measure memory from malloc, allocated and live. Never together with objects, whose bytes have
    /// the same sample types.
    pub native: bool,
}

impl Measures {
    /// No measure.
    pub const NONE: Self =
        Self { cpu: false, wall: false, runnable: false, allocations: false, heap: false, native: false };

    /// Returns whether there is a clock among them.
    #[must_use]
    pub fn timed(self) -> bool {
        self.cpu || self.wall
    }

    /// Returns whether there are objects among them.
    #[must_use]
    pub fn objects(self) -> bool {
        self.allocations || self.heap
    }

    /// Returns whether live objects or live memory are among them.
    #[must_use]
    pub fn live(self) -> bool {
        self.heap || self.native
    }

    /// Returns the sample types of the profile.
    #[must_use]
    pub fn sample_types(self) -> Vec<SampleType> {
        // A profile of only the heap, or of memory, has Go's four types.
        let alone = [Self { heap: true, ..Self::NONE }, Self { native: true, ..Self::NONE }].contains(&self);
        let mut types = Vec::with_capacity(SampleType::ALL.len());
        types.extend((!alone).then_some(SampleType::Samples));
        if self.cpu {
            types.push(SampleType::Cpu);
        }
        if self.wall {
            types.extend([SampleType::Wall, SampleType::GvlWait, SampleType::Gc, SampleType::GvlBlame]);
        }
        if self.objects() || self.native {
            types.extend([SampleType::AllocObjects, SampleType::AllocSpace]);
        }
        if self.live() {
            types.extend([SampleType::InuseObjects, SampleType::InuseSpace]);
        }
        types
    }

    /// Returns the weights of a row in these sample types.
    pub(crate) fn weights(self, key: &Key, sums: &RowSums) -> Weights {
        let mut weights = Weights::default();
        weights.set(SampleType::Samples, sums.count);
        if self.cpu {
            weights.set(SampleType::Cpu, sums.cpu_ns);
        }
        if self.wall {
            weights.set(SampleType::Wall, sums.wall_ns);
            weights.set(SampleType::GvlBlame, sums.blame_ns);
            match key.state {
                State::Gvl => weights.set(SampleType::GvlWait, sums.wall_ns),
                State::Gc => weights.set(SampleType::Gc, sums.wall_ns),
                State::Running | State::Waiting | State::Runnable | State::Blocked => {}
            }
        }
        if key.detail.is_live() {
            weights.set(SampleType::InuseObjects, sums.objects);
            weights.set(SampleType::InuseSpace, sums.bytes);
        } else if self.objects() || self.native {
            weights.set(SampleType::AllocObjects, sums.objects);
            weights.set(SampleType::AllocSpace, sums.bytes);
        }
        weights
    }
}

impl Default for Measures {
    fn default() -> Self {
        Self { cpu: true, ..Self::NONE }
    }
}

/// The definition of a session: what it measures, in which threads, labels and scope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionSpec {
    /// The measures of the session.
    pub measures: Measures,
    /// The threads to profile. `None` means all threads, including those that have not started yet.
    pub threads: Option<Vec<ThreadId>>,
    /// The labels that must all be current. An empty set always matches.
    pub labels: LabelSet,
    /// The scope to profile. `None` means any scope, or none.
    pub scope: Option<ScopeId>,
    /// Whether samples have a label with the number of their fiber.
    pub fibers: bool,
    /// Whether samples have the span in which they were taken.
    pub spans: bool,
    /// Whether to keep a [timeline](crate::profile::timeline).
    pub timeline: bool,
}

impl SessionSpec {
    /// Returns whether the session selects the thread.
    #[must_use]
    pub fn has_thread(&self, thread: ThreadId) -> bool {
        self.threads.as_ref().is_none_or(|threads| threads.contains(&thread))
    }

    /// Returns whether the session profiles all of a thread's time, not only the time under labels or in a
    /// scope.
    #[must_use]
    pub fn is_unrestricted(&self) -> bool {
        self.labels.is_empty() && self.scope.is_none()
    }
}

/// Keeps only the thread that forked, in a forked child, if it is among the threads of the session. Its id
/// was `before` in the parent and is `me` in the child. The child has no other thread.
pub fn keep_forked(threads: &mut Vec<ThreadId>, before: Option<ThreadId>, me: Option<ThreadId>) {
    let profiled = before.is_some_and(|before| threads.contains(&before));
    *threads = me.filter(|_| profiled).into_iter().collect();
}
