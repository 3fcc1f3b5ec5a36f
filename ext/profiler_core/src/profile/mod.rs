//! The finished profile: immutable, with all names known and no handle of the VM in it.
//!
//! A profile consists of tables of plain rows that refer to each other by id. Parents come before children,
//! so anything that runs from the root to the leaves needs only one forward pass.

use std::collections::BTreeMap;

use crate::ids::{FrameId, FunctionId, Id, RowId, StackId};
use crate::memory::history::History;
use crate::record::frame::Synthetic;
use crate::record::State;

mod footprint;
mod label_set;
mod merged;
mod meta;
mod note;
mod requests;
pub(crate) mod table_builder;
mod tables;
pub mod timeline;
pub mod weights;

pub use label_set::{LabelSet, OTHER, ROOT_SPAN, SPAN, TRACE};
pub use merged::Merged;
pub use meta::{Marker, Meta, Stats, ENDED, NAME};
pub use note::Note;
pub(crate) use requests::RequestRow as RequestsRow;
pub use requests::{Requests, Tally};
pub use tables::{Frame, Function, Language, Node, Sample, Thread};
use timeline::Timeline;
pub use weights::{SampleType, Weights};

/// A finished profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// The sample types, in the order of [`SampleType::ALL`].
    pub sample_types: Vec<SampleType>,
    /// The functions by [`FunctionId`].
    pub functions: Vec<Function>,
    /// The frames by [`FrameId`].
    pub frames: Vec<Frame>,
    /// The stacks by [`StackId`]; parents come first.
    pub stacks: Vec<Node>,
    /// The threads by index.
    pub threads: Vec<Thread>,
    /// The rows.
    pub samples: Vec<Sample>,
    /// The markers of the app in chronological order.
    pub markers: Vec<Marker>,
    /// The requests and jobs that ended during the session, by their labels, if they were counted.
    pub requests: Requests,
    /// The memory of the process over time, if it was kept.
    pub memory: History,
    /// The timeline of the rows, if one was kept.
    pub timeline: Option<Timeline>,
    /// The header.
    pub meta: Meta,
    /// The fates of the ticks, and the overhead of the profiler.
    pub stats: Stats,
}

impl Profile {
    /// Iterates over the frames of a stack, leaf first.
    pub fn frames_of(&self, stack: StackId) -> impl Iterator<Item = Frame> + '_ {
        let node = move |id: StackId| self.stacks.get(id.index()).copied();
        std::iter::successors(node(stack), move |it| it.parent.and_then(node))
            .filter_map(|it| self.frames.get(it.frame.index()).copied())
    }

    /// Returns the function of an id.
    #[must_use]
    pub fn function(&self, id: FunctionId) -> Option<&Function> {
        self.functions.get(id.index())
    }

    /// Returns the frame of an id.
    #[must_use]
    pub fn frame(&self, id: FrameId) -> Option<Frame> {
        self.frames.get(id.index()).copied()
    }

    /// Returns the trace with the most samples, among the samples that belong to a trace.
    #[must_use]
    pub fn main_trace(&self) -> Option<&str> {
        let mut traces: BTreeMap<&str, u64> = BTreeMap::new();
        for sample in &self.samples {
            if let Some(trace) = sample.label(TRACE) {
                *traces.entry(trace).or_default() += sample.weights.get(SampleType::Samples);
            }
        }
        traces.into_iter().max_by_key(|(_, samples)| *samples).map(|(trace, _)| trace)
    }

    /// Adds labels to every row, and to all requests, unless they have a label of that name.
    pub fn add_labels(&mut self, labels: &LabelSet) {
        self.requests.add_labels(labels);
        for sample in &mut self.samples {
            for label in labels.pairs() {
                if let Err(place) = sample.labels.binary_search_by(|(name, _)| name.cmp(&label.0)) {
                    sample.labels.insert(place, label.clone());
                }
            }
        }
    }

    /// Removes these labels from every row that has them with these values.
    pub fn remove_labels(&mut self, labels: &LabelSet) {
        for sample in &mut self.samples {
            sample.labels.retain(|it| labels.pairs().binary_search(it).is_err());
        }
    }

    /// Removes the rows for which `keep` returns false, with their timeline events.
    pub fn retain(&mut self, mut keep: impl FnMut(&Sample) -> bool) {
        let mut kept = 0;
        let mut place = |sample: &Sample| {
            let row = keep(sample).then(|| RowId::from_index(kept));
            kept += usize::from(row.is_some());
            row
        };
        let places: Vec<Option<RowId>> = self.samples.iter().map(&mut place).collect();
        let mut each = places.iter();
        self.samples.retain(|_| each.next().is_some_and(Option::is_some));
        let place = |row: RowId| places.get(row.index()).copied().flatten();
        self.timeline = self.timeline.take().map(|it| it.with_rows(place));
    }

    /// Returns the sum over all rows.
    #[must_use]
    pub fn total(&self) -> Weights {
        let mut total = Weights::default();
        self.samples.iter().for_each(|sample| total.add(&sample.weights));
        total
    }

    /// Returns the sample type that a report shows by default: time, or otherwise the last type, as pprof
    /// does. In a merge, a type that all parts have is preferred to one that only some have.
    #[must_use]
    pub fn default_sample_type(&self) -> SampleType {
        let prefer = [SampleType::Wall, SampleType::Cpu, SampleType::InuseSpace, SampleType::AllocSpace];
        let preferred = || prefer.into_iter().filter(|it| self.sample_types.contains(it));
        let in_all = preferred().find(|it| !self.is_partial_type(*it));
        let last = || self.sample_types.last().copied();
        in_all.or_else(|| preferred().next()).or_else(last).unwrap_or(SampleType::Samples)
    }

    /// Returns the sample type that a table by a label shows by default. Where samples of the usual type lack the
    /// label, as time lacks the class of objects, it is one whose samples have it.
    #[must_use]
    pub fn default_sample_type_by(&self, label: &str) -> SampleType {
        let labelled: Vec<&Sample> = self.samples.iter().filter(|it| it.label(label).is_some()).collect();
        let has = |of: &SampleType| labelled.iter().any(|it| it.weights.get(*of) > 0);
        let usual = self.default_sample_type();
        let prefer = [usual, SampleType::InuseSpace, SampleType::AllocSpace];
        prefer.into_iter().chain(self.sample_types.iter().copied()).find(has).unwrap_or(usual)
    }

    /// Returns whether this is a merge and only some of its parts have the type.
    #[must_use]
    pub fn is_partial_type(&self, of: SampleType) -> bool {
        self.meta.merged.as_ref().is_some_and(|it| it.partly.contains(of.name_and_unit().0))
    }

    /// Returns whether the thread of a sample was collecting garbage, with a CPU or without.
    #[must_use]
    pub fn is_gc(&self, sample: &Sample) -> bool {
        let leaf = || self.frames_of(sample.stack).next().and_then(|it| self.function(it.function));
        match sample.state {
            State::Gc => true,
            State::Runnable => leaf().is_some_and(|it| it.name == Synthetic::Gc.name()),
            State::Running | State::Waiting | State::Gvl | State::Blocked => false,
        }
    }

    /// Returns the wall clock time that threads spent in that state, ns; 0 if it was not measured.
    #[must_use]
    pub fn wall_ns(&self, state: State) -> u64 {
        let rows = self.samples.iter().filter(|it| it.state == state);
        rows.fold(0, |sum, it| sum.saturating_add(it.weights.get(SampleType::Wall)))
    }

    /// Returns the mean time between two ticks of a running thread, ns, which is what the requested interval
    /// came to. Uses CPU time if it was measured, otherwise wall clock time. Returns 0 if there are no ticks.
    #[must_use]
    pub fn effective_interval_ns(&self) -> u64 {
        let cpu = self.sample_types.contains(&SampleType::Cpu);
        // A wait measured at its end has records of its own, which are not ticks.
        let is_allocation = |it: &Sample| it.weights.get(SampleType::AllocObjects) > 0;
        let ran = |it: &Sample| matches!(it.state, State::Running | State::Runnable);
        let ticks_alone =
            |it: &&Sample| !is_allocation(it) && (ran(it) || (cpu && it.weights.get(SampleType::Cpu) > 0));
        let mut total = Weights::default();
        self.samples.iter().filter(ticks_alone).for_each(|it| total.add(&it.weights));
        let time = total.get(if cpu { SampleType::Cpu } else { SampleType::Wall });
        time.checked_div(total.get(SampleType::Samples)).unwrap_or(0)
    }
}
