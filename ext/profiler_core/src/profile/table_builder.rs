//! The growing tables of a profile. Equal entries are stored once.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::{Frame, Function, Node, Profile, Sample, Thread, Weights};
use crate::ids::{FrameId, FunctionId, Id, Interner, LabelSetId, RowId, StackId, ThreadId};
use crate::record::State;

/// The identity of a row.
pub(crate) struct SampleKey {
    pub(crate) stack: StackId,
    pub(crate) thread: ThreadId,
    pub(crate) state: State,
    /// The labels, sorted by name.
    pub(crate) labels: Vec<(String, String)>,
}

/// The growing tables of a profile.
#[derive(Clone, Debug, Default)]
pub(crate) struct TableBuilder {
    functions: Interner<Function, FunctionId>,
    frames: Interner<Frame, FrameId>,
    stacks: Interner<Node, StackId>,
    threads: Interner<Thread, ThreadId>,
    labels: Interner<Vec<(String, String)>, LabelSetId>,
    samples: Vec<Sample>,
    rows: HashMap<(StackId, ThreadId, State, LabelSetId), RowId, FxBuildHasher>,
}

impl TableBuilder {
    /// Returns the id of a function.
    pub(crate) fn function(&mut self, function: Function) -> FunctionId {
        self.functions.intern(function)
    }

    /// Returns the id of a frame.
    pub(crate) fn frame(&mut self, frame: Frame) -> FrameId {
        self.frames.intern(frame)
    }

    /// Returns the id of a stack.
    pub(crate) fn stack(&mut self, node: Node) -> StackId {
        self.stacks.intern(node)
    }

    /// Returns the leaf of a stack and its caller's stack.
    pub(crate) fn node(&self, stack: StackId) -> Option<Node> {
        self.stacks.get(stack).copied()
    }

    /// Returns the number of functions.
    pub(crate) fn functions(&self) -> usize {
        self.functions.rows().len()
    }

    /// Returns the number of nodes in the tree of stacks.
    pub(crate) fn nodes(&self) -> usize {
        self.stacks.rows().len()
    }

    /// Returns the id of a thread.
    pub(crate) fn thread(&mut self, thread: Thread) -> ThreadId {
        self.threads.intern(thread)
    }

    /// Adds the stacks of other tables and returns their new ids. `functions` are the new ids of the
    /// functions in those tables.
    pub(crate) fn add_stacks(
        &mut self,
        functions: &[FunctionId],
        frames: &[Frame],
        stacks: &[Node],
    ) -> Vec<StackId> {
        let framed =
            |it: &Frame| self.frames.intern(Frame { function: moved(functions, it.function), ..*it });
        let frames: Vec<FrameId> = frames.iter().map(framed).collect();
        // Parents come first in the other tables, so they do here too.
        let mut ids: Vec<StackId> = Vec::with_capacity(stacks.len());
        for node in stacks {
            let parent = node.parent.map(|parent| moved(&ids, parent));
            ids.push(self.stacks.intern(Node { parent, frame: moved(&frames, node.frame) }));
        }
        ids
    }

    /// Adds a row, or adds its weights to an equal row. Returns the id of the row.
    pub(crate) fn add_row(&mut self, row: SampleKey, weights: &Weights) -> RowId {
        let SampleKey { stack, thread, state, labels } = row;
        let label_set = self.labels.intern(labels);
        let next = RowId::from_index(self.samples.len());
        let id = *self.rows.entry((stack, thread, state, label_set)).or_insert(next);
        if let Some(sample) = self.samples.get_mut(id.index()) {
            sample.weights.add(weights);
            return id;
        }
        let labels = self.labels.get(label_set).cloned().unwrap_or_default();
        self.samples.push(Sample { stack, thread: thread.index(), state, labels, weights: *weights });
        id
    }

    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.samples.len()
    }

    /// Converts the tables to a profile without a header.
    pub(crate) fn into_profile(self) -> Profile {
        Profile {
            functions: self.functions.into_rows(),
            frames: self.frames.into_rows(),
            stacks: self.stacks.into_rows(),
            threads: self.threads.into_rows(),
            samples: self.samples,
            ..Profile::default()
        }
    }
}

/// Returns the new id of `id`. A table always contains the ids that it assigned.
pub(crate) fn moved<I: Id>(to: &[I], id: I) -> I {
    to.get(id.index()).copied().unwrap_or(id)
}
