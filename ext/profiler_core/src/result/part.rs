//! The part of a session's result that belongs to one generation, before it has names: a copy of the tables
//! that it needs, with handles for functions.
//!
//! The sums are taken in one step. The stacks are copied later, one piece at a time: whoever copies them
//! holds the drain lock, and a garbage collection on another thread would wait for it.

use std::cmp::Reverse;

use crate::ids::{LabelSetId, StackId, ThreadId};
use crate::profile::LabelSet;
use crate::record::frame::Synthetic;
use crate::record::State;
use crate::result::ended_threads::Folded;
use crate::session::aggregate::Aggregate;
use crate::session::key::{Key, RowSums};
use crate::session::labels::LabelSets;
use crate::session::spans::Spans;
use crate::session::Recorder;
use crate::tables::generations::Generation;
use crate::tables::stacks::Stacks;

/// The number of frames copied before the lock is released in between: about 0.2 ms.
const PIECE: usize = 4_096;

/// The sums of a session in one generation, complete but for the names, with the right to request those.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// The number of the generation, which lasts until the part is resolved or dropped.
    pub(crate) generation: u64,
    /// The handles without a name that only the VM can name. Empty until everything is copied.
    pub(crate) unknown: Vec<u64>,
    /// The rows whose stacks are still in the generation's tables, the last row first.
    uncopied: Vec<(Key, RowSums)>,
    /// The stacks of the other rows.
    pub(super) stacks: Stacks,
    pub(super) rows: Vec<(StackId, Key, RowSums)>,
    /// The label sets of the rows, by id.
    pub(super) labels: Vec<(LabelSetId, LabelSet)>,
    /// The spans of the rows.
    pub(super) spans: Spans,
    pub(super) recorder: Option<Box<Recorder>>,
    /// The number of records of the generation whose stacks were cut because there were too many different
    /// ones.
    pub(crate) stacks_refused: u64,
}

impl Part {
    /// Takes the sums of `aggregate`, which belong to this generation. [`Part::copy_some`] copies their
    /// stacks.
    pub(crate) fn take(mut aggregate: Aggregate, generation: &mut Generation, sets: &LabelSets) -> Self {
        let (recorder, spans) = (aggregate.recorder.take(), aggregate.spans.take().unwrap_or_default());
        let uncopied = aggregate.into_weights();
        let labels = distinct(uncopied.iter().map(|(key, _)| key.labels));
        Self {
            generation: generation.enter(),
            unknown: Vec::new(),
            rows: Vec::with_capacity(uncopied.len()),
            uncopied,
            stacks: Stacks::default(),
            labels: labels.into_iter().map(|id| (id, sets.with_fiber(id))).collect(),
            spans,
            recorder,
            stacks_refused: generation.stacks.refused(),
        }
    }

    /// Sorts the rows into an order that does not depend on any hash. In this order copying is also cheap.
    pub(crate) fn sort(&mut self) {
        self.uncopied.sort_unstable_by_key(|(key, _)| Reverse(*key));
    }

    /// Copies the stacks of some rows. Returns whether any rows are left.
    pub(crate) fn copy_some(&mut self, generation: &Generation) -> bool {
        let mut frames = 0;
        // The rows are in the order of their stacks.
        let mut last: Option<(StackId, StackId)> = None;
        while frames < PIECE {
            let Some((key, weight)) = self.uncopied.pop() else { break };
            let known = last.filter(|(of, _)| Some(*of) == key.stack).map(|(_, copied)| copied);
            let stack = known.unwrap_or_else(|| {
                let (stack, copied) = self.copy(&generation.stacks, &key);
                frames += copied;
                stack
            });
            last = key.stack.map(|it| (it, stack));
            self.rows.push((stack, key, weight));
            frames += 1;
        }
        if self.uncopied.is_empty() {
            self.unknown = generation.names.unknown(self.stacks.handles());
            self.unknown.extend(generation.names.unknown(&self.classes()));
        }
        !self.uncopied.is_empty()
    }

    /// Copies the stack of a row. Returns the copy and its number of frames.
    fn copy(&mut self, all: &Stacks, key: &Key) -> (StackId, usize) {
        if let Some(stack) = key.stack {
            return self.stacks.copy(all, stack);
        }
        // A GC that was too short to be captured has no stack, but its state identifies it.
        let frame = if key.state == State::Gc { Synthetic::Gc } else { Synthetic::Unsampled }.frame();
        (self.stacks.intern_frames(std::iter::once(frame)).unwrap_or(StackId(0)), 1)
    }

    /// Returns whether everything is copied.
    pub(crate) fn is_copied(&self) -> bool {
        self.uncopied.is_empty()
    }

    /// Returns the number of distinct handles of functions.
    pub(crate) fn needed(&self) -> usize {
        self.stacks.handles().len()
    }

    /// Returns the distinct handles of functions, and those of the classes of objects.
    pub(crate) fn handles(&self) -> Vec<u64> {
        let mut handles = self.stacks.handles().to_vec();
        handles.extend(self.classes());
        handles
    }

    fn classes(&self) -> Vec<u64> {
        distinct(self.rows.iter().filter_map(|(_, key, _)| key.detail.class()?.handle()))
    }

    /// Iterates over the keys of all rows.
    pub(super) fn keys(&self) -> impl Iterator<Item = &Key> + '_ {
        self.uncopied.iter().map(|(key, _)| key).chain(self.rows.iter().map(|(_, key, _)| key))
    }

    /// Iterates over the threads in the rows.
    pub(crate) fn threads(&self) -> impl Iterator<Item = ThreadId> + '_ {
        self.keys().flat_map(Key::threads)
    }

    /// Replaces the ids of ended threads in the rows by those of their groups.
    pub(crate) fn fold(&mut self, ids: &Folded) {
        self.uncopied.iter_mut().for_each(|(key, _)| *key = key.folded(ids));
        self.rows.iter_mut().for_each(|(_, key, _)| *key = key.folded(ids));
    }
}

/// Returns the distinct ids, sorted.
pub(crate) fn distinct<I: Ord>(ids: impl Iterator<Item = I>) -> Vec<I> {
    let mut ids: Vec<I> = ids.collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}
