//! Rows of profiles added up: what merging and trimming have in common.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::ids::{FrameId, FunctionId, Id, Interner, LabelSetId, StackId, ThreadId};
use crate::profile::{Frame, Function, Node, Profile, Sample, Thread};
use crate::sample::State;

/// What makes a row the same row.
type Key = (StackId, ThreadId, State, LabelSetId);

/// Tables in which what is equal is one, as they grow.
#[derive(Default)]
pub(super) struct Sum {
    functions: Interner<Function, FunctionId>,
    frames: Interner<Frame, FrameId>,
    stacks: Interner<Node, StackId>,
    threads: Interner<Thread, ThreadId>,
    labels: Interner<Vec<(String, String)>, LabelSetId>,
    samples: Vec<Sample>,
    places: HashMap<Key, usize, FxBuildHasher>,
}

impl Sum {
    /// Adds the rows of a profile, with its functions as `renamed` has them.
    pub(super) fn add(&mut self, profile: &Profile, renamed: impl Fn(&Function) -> Function) {
        let functions: Vec<FunctionId> =
            profile.functions.iter().map(|it| self.functions.intern(renamed(it))).collect();
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

    /// A profile of these tables with the header of the one profile that was added.
    pub(super) fn with_header_of(self, profile: &Profile) -> Profile {
        Profile {
            sample_types: profile.sample_types.clone(),
            markers: profile.markers.clone(),
            meta: profile.meta.clone(),
            stats: profile.stats,
            ..self.into_tables()
        }
    }

    /// A profile of these tables, without a header.
    pub(super) fn into_tables(self) -> Profile {
        Profile {
            functions: self.functions.into_rows(),
            frames: self.frames.into_rows(),
            stacks: self.stacks.into_rows(),
            threads: self.threads.into_rows(),
            samples: self.samples,
            ..Profile::default()
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
