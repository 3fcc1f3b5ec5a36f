//! One profile of many: their rows summed up, and a header that says in what they differed.
//!
//! Nothing is lost and no name is made up. What is equal in every field is one: functions, frames,
//! stacks, threads, and the rows of one stack, thread, state and set of labels. So whatever is asked of
//! the merge, the answer is the sum of the answers, in whatever order and groups the profiles came.
//!
//! Threads are one when native id and name are equal, also those of different processes. The kernel
//! has one thread of an id at a time, so what looks alike is mostly one thread that was profiled
//! twice. Where it is not (an id was used again, or containers count from 1 each), nothing in a row
//! tells: only a whole file has a pid, and a file that is itself a merge has several. To keep apart what
//! differs in the pid of its file would make the answer depend on what was merged with what first.
//!
//! Counts of ticks are added as well. They are of a process: two sessions that ran at once in one
//! process saw the same ticks, and the sum has these twice.

mod meta;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::ids::{FrameId, FunctionId, Id, Interner, LabelSetId, StackId, ThreadId};
use crate::profile::{Frame, Function, Marker, Node, Profile, Sample, SampleType, Stats, Thread};
use crate::sample::State;

/// The sum of `profiles`. One alone comes back as it is; none give an empty one.
#[must_use]
pub fn merge(profiles: &[&Profile]) -> Profile {
    if let [one] = profiles {
        return (*one).clone();
    }
    let measured = |of: &SampleType| profiles.iter().any(|it| it.sample_types.contains(of));
    let mut sum = Sum::default();
    profiles.iter().for_each(|it| sum.add(it));
    let mut markers: Vec<Marker> = profiles.iter().flat_map(|it| it.markers.iter().cloned()).collect();
    markers.sort_unstable();
    Profile {
        sample_types: SampleType::ALL.into_iter().filter(measured).collect(),
        functions: sum.functions.into_rows(),
        frames: sum.frames.into_rows(),
        stacks: sum.stacks.into_rows(),
        threads: sum.threads.into_rows(),
        samples: sum.samples,
        markers,
        meta: meta::meta(profiles),
        stats: profiles.iter().fold(Stats::default(), |sum, it| plus(&sum, &it.stats)),
    }
}

fn plus(one: &Stats, other: &Stats) -> Stats {
    Stats {
        counts: one.counts.plus(&other.counts),
        handler_ns: one.handler_ns.saturating_add(other.handler_ns),
        collector_ns: one.collector_ns.saturating_add(other.collector_ns),
        stop_ns: one.stop_ns.saturating_add(other.stop_ns),
        names_ns: one.names_ns.saturating_add(other.names_ns),
    }
}

/// What makes a row the same row.
type Key = (StackId, ThreadId, State, LabelSetId);

/// The tables of the merge, as they grow.
#[derive(Default)]
struct Sum {
    functions: Interner<Function, FunctionId>,
    frames: Interner<Frame, FrameId>,
    stacks: Interner<Node, StackId>,
    threads: Interner<Thread, ThreadId>,
    labels: Interner<Vec<(String, String)>, LabelSetId>,
    samples: Vec<Sample>,
    places: HashMap<Key, usize, FxBuildHasher>,
}

impl Sum {
    fn add(&mut self, profile: &Profile) {
        let functions: Vec<FunctionId> =
            profile.functions.iter().map(|it| self.functions.intern(it.clone())).collect();
        let framed = |it: &Frame| Frame { function: moved(&functions, it.function), ..*it };
        let frames: Vec<FrameId> = profile.frames.iter().map(|it| self.frames.intern(framed(it))).collect();
        // Parents come first there, so they do here.
        let mut stacks: Vec<StackId> = Vec::with_capacity(profile.stacks.len());
        for node in &profile.stacks {
            let parent = node.parent.map(|parent| moved(&stacks, parent));
            stacks.push(self.stacks.intern(Node { parent, frame: moved(&frames, node.frame) }));
        }
        let threads: Vec<ThreadId> =
            profile.threads.iter().map(|it| self.threads.intern(it.clone())).collect();

        for sample in &profile.samples {
            let thread = threads.get(sample.thread).copied();
            // A row of no thread keeps its weight, if not a name.
            let thread = thread.unwrap_or_else(|| self.threads.intern(Thread::default()));
            self.add_row(sample, moved(&stacks, sample.stack), thread);
        }
    }

    fn add_row(&mut self, sample: &Sample, stack: StackId, thread: ThreadId) {
        let key = (stack, thread, sample.state, self.labels.intern(sample.labels.clone()));
        match self.places.get(&key).and_then(|place| self.samples.get_mut(*place)) {
            Some(row) => row.weights.add(&sample.weights),
            None => {
                self.places.insert(key, self.samples.len());
                self.samples.push(Sample { stack, thread: thread.index(), ..sample.clone() });
            }
        }
    }
}

/// Where the row `id` went; a table always has the ids that it gave.
fn moved<I: Id>(to: &[I], id: I) -> I {
    to.get(id.index()).copied().unwrap_or(id)
}
