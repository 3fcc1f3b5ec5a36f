//! What a session looks at, of all that the one machine records.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::ids::{LabelSetId, ScopeId, StackId, ThreadId};
use crate::profile::{SampleType, Weights};
use crate::record::detail::Detail;
use crate::record::{Kind, RawRecord, State, WallTimes};
use crate::sampling::live_objects::LiveObject;
use crate::session::aggregate::{Aggregate, Beginning, Key, Last, Weight};
use crate::session::labels::{LabelSet, LabelSets};
use crate::session::Recorder;

/// What a session is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measures {
    /// The CPU clock of each thread.
    pub cpu: bool,
    /// The wall clock of each thread, in its four parts.
    pub wall: bool,
    /// The objects that are made.
    pub allocations: bool,
    /// Those of them that are alive.
    pub heap: bool,
}

impl Measures {
    /// Nothing.
    pub const NONE: Self = Self { cpu: false, wall: false, allocations: false, heap: false };

    /// Whether it is about time.
    #[must_use]
    pub fn timed(self) -> bool {
        self.cpu || self.wall
    }

    /// Whether it is about objects.
    #[must_use]
    pub fn objects(self) -> bool {
        self.allocations || self.heap
    }

    /// What its profile has columns for.
    #[must_use]
    pub fn sample_types(self) -> Vec<SampleType> {
        // Go's four, where there is nothing else.
        let alone = self == Self { heap: true, ..Self::NONE };
        let mut types = Vec::with_capacity(SampleType::ALL.len());
        types.extend((!alone).then_some(SampleType::Samples));
        if self.cpu {
            types.push(SampleType::Cpu);
        }
        if self.wall {
            types.extend([SampleType::Wall, SampleType::GvlWait, SampleType::Gc, SampleType::GvlBlame]);
        }
        if self.objects() {
            types.extend([SampleType::AllocObjects, SampleType::AllocSpace]);
        }
        if self.heap {
            types.extend([SampleType::InuseObjects, SampleType::InuseSpace]);
        }
        types
    }

    /// What a weight of that row comes to in these columns.
    pub(crate) fn weights(self, key: &Key, weight: &Weight) -> Weights {
        let mut weights = Weights::default();
        weights.set(SampleType::Samples, weight.count);
        if self.cpu {
            weights.set(SampleType::Cpu, weight.cpu_ns);
        }
        if self.wall {
            weights.set(SampleType::Wall, weight.wall_ns);
            weights.set(SampleType::GvlBlame, weight.blame_ns);
            match key.state {
                State::Gvl => weights.set(SampleType::GvlWait, weight.wall_ns),
                State::Gc => weights.set(SampleType::Gc, weight.wall_ns),
                State::Running | State::Waiting => {}
            }
        }
        if matches!(key.detail, Detail::Live(..)) {
            weights.set(SampleType::InuseObjects, weight.objects);
            weights.set(SampleType::InuseSpace, weight.bytes);
        } else if self.objects() {
            weights.set(SampleType::AllocObjects, weight.objects);
            weights.set(SampleType::AllocSpace, weight.bytes);
        }
        weights
    }
}

impl Default for Measures {
    fn default() -> Self {
        Self { cpu: true, ..Self::NONE }
    }
}

/// Which records are a session's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// The clocks it is about.
    pub measures: Measures,
    /// Only these threads; all, also those yet to be born, if nothing.
    pub threads: Option<Vec<ThreadId>>,
    /// Only while all of these labels are current. Empty is always.
    pub labels: LabelSet,
    /// Only inside this scope; in any, and in none, if nothing.
    pub scope: Option<ScopeId>,
    /// Whether samples say which fiber they are of.
    pub fibers: bool,
    /// Whether to keep when all of it was, see [`crate::profile::timeline`].
    pub timeline: bool,
}

impl View {
    /// Whether a thread can be in it.
    #[must_use]
    pub fn has_thread(&self, thread: ThreadId) -> bool {
        self.threads.as_ref().is_none_or(|threads| threads.contains(&thread))
    }

    /// Whether all of a thread's time is in it, and not only what is spent under labels or in a scope.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.labels.is_empty() && self.scope.is_none()
    }

    fn aggregate(&self, started_ns: u64) -> Aggregate {
        let mut aggregate = Aggregate::new(self.measures, started_ns, self.is_whole(), []);
        aggregate.recorder = self.timeline.then(|| Box::new(Recorder::new(self.measures, started_ns)));
        aggregate
    }
}

/// A thread when a session begins to profile it, with its labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadNow {
    /// Who.
    pub thread: ThreadId,
    /// Its CPU clock, ns.
    pub cpu_ns: u64,
    /// Its wall clocks.
    pub walls: WallTimes,
    /// Labels current on it.
    pub labels: LabelSetId,
    /// The scope that it is in.
    pub scope: ScopeId,
}

/// A view and what was seen through it.
#[derive(Clone, Debug)]
pub struct Viewer {
    view: View,
    paused: bool,
    /// Whether a set of labels has all that the view wants, as far as that was asked.
    matches: HashMap<LabelSetId, bool, FxBuildHasher>,
    aggregate: Aggregate,
}

impl Viewer {
    /// Begins to look at `started_ns` on the monotonic clock; `threads` are those that exist.
    pub fn new(view: View, started_ns: u64, threads: &[ThreadNow], sets: &LabelSets) -> Self {
        let aggregate = view.aggregate(started_ns);
        let mut viewer = Self { view, paused: false, matches: HashMap::default(), aggregate };
        viewer.resume(started_ns, threads, sets);
        viewer
    }

    /// What it looks at.
    #[must_use]
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Takes a record if it is in view.
    pub fn take(&mut self, record: &RawRecord<'_>, stack: Option<StackId>, sets: &LabelSets) {
        let mut header = record.header;
        header.labels = self.labels(header.labels, sets);
        let header = &header;
        if self.paused || !self.view.has_thread(header.thread) {
            return;
        }
        if let Kind::Allocation(allocation) = record.kind {
            // These stand for no time, and come when they are enough: nothing crosses by them.
            if self.inside(header.labels, header.scope, sets) {
                self.aggregate.allocate(&allocation, header, stack);
            }
            return;
        }
        if !self.view.is_whole() {
            let inside = self.inside(header.labels, header.scope, sets);
            // A tick crosses as well: the switch that should have come before it may be missing.
            self.aggregate.cross(header, inside);
            if !inside {
                return;
            }
        }
        let kind = match record.kind {
            Kind::Blame { holder, labels } => Kind::Blame { holder, labels: self.labels(labels, sets) },
            other => other,
        };
        self.aggregate.add(kind, header, stack);
    }

    /// Gives away what is left of a thread whose clocks stand at `last`.
    pub fn settle(&mut self, last: &Last) {
        if !self.paused && self.view.has_thread(last.thread) {
            self.aggregate.settle(last);
        }
    }

    /// Forgets a thread that has ended and was settled.
    pub fn forget(&mut self, thread: ThreadId) {
        self.aggregate.forget(thread);
    }

    /// Looks away. What is left of the threads has been settled.
    pub fn pause(&mut self) {
        self.paused = true;
    }

    /// Looks again, from `started_ns` on the monotonic clock; `threads` are those that exist.
    pub fn resume(&mut self, started_ns: u64, threads: &[ThreadNow], sets: &LabelSets) {
        self.paused = false;
        let mut seen = Vec::new();
        for it in threads {
            if self.view.has_thread(it.thread) {
                let inside = self.inside(it.labels, it.scope, sets);
                let labels = self.labels(it.labels, sets);
                let ThreadNow { thread, cpu_ns, walls, .. } = *it;
                seen.push(Beginning { thread, cpu_ns, walls, inside, labels });
            }
        }
        self.aggregate.restart(started_ns, seen);
    }

    /// In a forked child: see [`crate::pipeline::hub::ForkGuard::start_over`].
    pub fn start_over(
        &mut self,
        started_ns: u64,
        before: Option<ThreadId>,
        me: Option<ThreadNow>,
        sets: &LabelSets,
    ) {
        if let Some(threads) = &mut self.view.threads {
            let looked_at = before.is_some_and(|before| threads.contains(&before));
            *threads = me.filter(|_| looked_at).map(|me| me.thread).into_iter().collect();
        }
        self.aggregate = self.view.aggregate(started_ns);
        if !self.paused {
            self.resume(started_ns, me.as_slice(), sets);
        }
    }

    /// Replaces the live objects: these, after that number of garbage collections.
    pub fn note_live(&mut self, live: &[LiveObject], collections: u64) {
        self.aggregate.note_live(live, collections);
    }

    /// What was seen.
    #[must_use]
    pub fn into_aggregate(self) -> Aggregate {
        self.aggregate
    }

    fn labels(&self, id: LabelSetId, sets: &LabelSets) -> LabelSetId {
        if self.view.fibers {
            id
        } else {
            sets.plain(id)
        }
    }

    fn inside(&mut self, labels: LabelSetId, scope: ScopeId, sets: &LabelSets) -> bool {
        if self.view.scope.is_some_and(|wanted| wanted != scope) {
            return false;
        }
        let wanted = &self.view.labels;
        wanted.is_empty() || *self.matches.entry(labels).or_insert_with(|| sets.get(labels).has_all(wanted))
    }
}
