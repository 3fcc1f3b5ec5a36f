//! The part of a session's result that is of one generation, before names: its own part of the tables, with handles for functions.

use crate::ids::{LabelSetId, StackId, ThreadId};
use crate::pipeline::ended_threads::Folded;
use crate::pipeline::generations::Generation;
use crate::pipeline::stacks::Stacks;
use crate::profile::{Frame, LabelSet, Node};
use crate::record::detail::Detail;
use crate::record::frame::Synthetic;
use crate::record::object_class::Class;
use crate::record::State;
use crate::session::aggregate::Aggregate;
use crate::session::key::{Key, Weight};
use crate::session::labels::LabelSets;
use crate::session::Recorder;

/// The sums of a session in one generation. It has everything but names, and the right to request them.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// The number of the generation, which lasts until the part is resolved or dropped.
    pub(crate) generation: u64,
    /// The handles that only the VM can name, as far as they had no names.
    pub(crate) unknown: Vec<u64>,
    /// The distinct handles, synthetic ones among them; a frame's function is an index here.
    pub(super) handles: Vec<u64>,
    pub(super) frames: Vec<Frame>,
    pub(super) stacks: Vec<Node>,
    pub(super) rows: Vec<(StackId, Key, Weight)>,
    /// The sets of labels of the rows, by id.
    pub(super) labels: Vec<(LabelSetId, LabelSet)>,
    pub(super) recorder: Option<Box<Recorder>>,
    /// Records of the generation whose stacks were cut, as there were too many different ones.
    pub(crate) stacks_refused: u64,
}

impl Part {
    /// Copies what `aggregate` needs out of the tables of the generation. Its threads have no names yet.
    pub(crate) fn extract(mut aggregate: Aggregate, generation: &mut Generation, sets: &LabelSets) -> Self {
        let number = generation.enter();
        let Generation { stacks: all, names, .. } = generation;
        let mut own = Stacks::default();
        // Rows come in the order of their stacks.
        let mut last: Option<(StackId, StackId)> = None;
        let mut rows = Vec::new();
        let recorder = aggregate.recorder.take();
        for (key, weight) in aggregate.into_weights() {
            let stack = match key.stack {
                Some(stack) => {
                    let known = last.filter(|(of, _)| *of == stack).map(|(_, copied)| copied);
                    let copied = known.unwrap_or_else(|| own.copy(all, stack));
                    last = Some((stack, copied));
                    copied
                }
                None => {
                    // A GC that was too short to be captured is known by its state.
                    let gc = key.state == State::Gc;
                    let frame = if gc { Synthetic::Gc } else { Synthetic::Unsampled }.frame();
                    own.intern_frames(std::iter::once(frame)).unwrap_or(StackId(0))
                }
            };
            rows.push((stack, key, weight));
        }

        let labels = distinct(rows.iter().map(|(_, key, _)| key.labels));
        let labels = labels.into_iter().map(|id| (id, sets.with_fiber(id))).collect();
        let classes = distinct(rows.iter().filter_map(|(_, key, _)| class_of(key)?.handle()));
        let (handles, frames, stacks) = own.into_tables();
        let mut unknown = names.unknown(&handles);
        unknown.extend(names.unknown(&classes));
        Self {
            generation: number,
            unknown,
            handles,
            frames,
            stacks,
            rows,
            labels,
            recorder,
            stacks_refused: all.refused(),
        }
    }

    /// The number of distinct handles.
    pub(crate) fn needed(&self) -> usize {
        self.handles.len()
    }

    /// The threads that rows name.
    pub(crate) fn threads(&self) -> impl Iterator<Item = ThreadId> + '_ {
        self.rows.iter().flat_map(|(_, key, _)| key.threads())
    }

    /// Gives the rows of threads that have ended the ids that they are given.
    pub(crate) fn fold(&mut self, ids: &Folded) {
        self.rows.iter_mut().for_each(|(_, key, _)| *key = key.folded(ids));
    }
}

/// The distinct ids, in order.
pub(super) fn distinct<I: Ord>(ids: impl Iterator<Item = I>) -> Vec<I> {
    let mut ids: Vec<I> = ids.collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

fn class_of(key: &Key) -> Option<Class> {
    match key.detail {
        Detail::Allocated(class) | Detail::Live(class, _) => Some(class),
        Detail::None | Detail::Gc(_) | Detail::Waiter(_) => None,
    }
}
