//! The samples of one family in a shape.

use std::cmp::Reverse;

use hashbrown::{HashMap, HashSet};
use rustc_hash::FxBuildHasher;

use super::dimensions::{Dimensions, LabelPairs};
use super::family::Family;
use super::shape::Shape;
use super::span::{SentSpan, SpanChoice};
use crate::ids::{FrameId, Id, Interner, LabelSetId, SpanIndex, StackId};
use crate::profile::{Profile, Sample, SampleType, Weights};
use crate::record::frame::Synthetic;

/// A stack in the form in which it is sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ShapedStack {
    /// The frames, leaf first.
    pub(super) frames: Vec<FrameId>,
    /// A frame below these, in place of the frames that were left out.
    pub(super) root: Option<Synthetic>,
}

/// A sample in the form in which it is sent. No other sample has the same stack, labels and span.
#[derive(Clone, Copy)]
struct Row {
    stack: StackId,
    labels: LabelSetId,
    span: SpanIndex,
    weights: Weights,
}

/// The samples of one family.
pub(super) struct Shaped<'a> {
    pub(super) profile: &'a Profile,
    pub(super) family: Family,
    pub(super) types: Vec<SampleType>,
    dimensions: Dimensions<'a>,
    stacks: Interner<ShapedStack, StackId>,
    labels: Interner<LabelPairs<'a>, LabelSetId>,
    spans: Interner<SentSpan, SpanIndex>,
    rows: Vec<Row>,
    /// The index of each row.
    places: HashMap<(StackId, LabelSetId, SpanIndex), usize, FxBuildHasher>,
}

impl<'a> Shaped<'a> {
    /// Collects the samples of a family. Returns `None` if no sample has any weight in the family.
    pub(super) fn new(
        profile: &'a Profile,
        family: Family,
        shape: &'a Shape,
        spans: SpanChoice,
    ) -> Option<Self> {
        let types = family.types_in(profile);
        let weighs = |it: &&Sample| types.iter().any(|of| it.weights.get(*of) > 0);
        let samples: Vec<&Sample> = profile.samples.iter().filter(weighs).collect();
        if samples.is_empty() {
            return None;
        }
        let mut shaped = Self {
            profile,
            family,
            types,
            dimensions: Dimensions::new(shape, &samples, family.main_type()),
            stacks: Interner::default(),
            labels: Interner::default(),
            spans: Interner::default(),
            rows: Vec::new(),
            places: HashMap::default(),
        };
        for sample in samples {
            let stack = shaped.stacks.intern(stack(profile, sample.stack, shape.depth));
            let labels = shaped.labels.intern(shaped.dimensions.labels(sample));
            let span = spans.of(sample).map_or(SpanIndex::NONE, |it| shaped.spans.intern(it));
            shaped.add(Row { stack, labels, span, weights: sample.weights });
        }
        shaped.limit(shape.samples);
        Some(shaped)
    }

    /// Iterates over stack, labels, span and weights of each sample.
    pub(super) fn samples(
        &self,
    ) -> impl Iterator<Item = (&ShapedStack, &LabelPairs<'a>, Option<&SentSpan>, &Weights)> {
        self.rows.iter().filter_map(|row| {
            let (stack, labels) = (self.stacks.get(row.stack)?, self.labels.get(row.labels)?);
            Some((stack, labels, self.spans.get(row.span), &row.weights))
        })
    }

    /// Reduces the number of samples if a message with them is longer than allowed. Returns whether it did.
    pub(super) fn shorten(&mut self, length: usize, allowed: usize) -> bool {
        let samples = self.rows.len();
        if length <= allowed || samples <= 1 {
            return false;
        }
        let fitting = samples as f64 * allowed as f64 / length as f64;
        // Names are shared, so they shrink less than the samples do.
        self.limit(((fitting * 0.9) as usize).min(samples - 1));
        true
    }

    /// Keeps at most `most` samples, and at least one. The lightest are merged into one with the stack
    /// `(other)` for each label set, or for all sets together if these are too many.
    fn limit(&mut self, most: usize) {
        let most = most.max(1);
        if self.rows.len() <= most {
            return;
        }
        let mut rows = std::mem::take(&mut self.rows);
        self.places.clear();
        rows.sort_by_key(|it| Reverse(it.weights.get(self.family.main_type())));

        let mut sets: HashSet<LabelSetId, FxBuildHasher> = HashSet::default();
        let fits = |(place, row): &(usize, &Row)| {
            sets.insert(row.labels);
            place + sets.len() <= most
        };
        let kept = rows.iter().enumerate().rev().find(fits).map(|it| it.0);
        let labels = kept.is_none().then(|| self.labels.intern(self.dimensions.others()));
        let stack = self.stacks.intern(ShapedStack { frames: Vec::new(), root: Some(Synthetic::Other) });
        let rest = rows.split_off(kept.unwrap_or(most - 1));
        rows.into_iter().for_each(|it| self.add(it));
        for row in rest {
            let labels = labels.unwrap_or(row.labels);
            self.add(Row { stack, labels, span: SpanIndex::NONE, weights: row.weights });
        }
    }

    /// Adds a sample, or adds its weights to an otherwise equal one.
    fn add(&mut self, row: Row) {
        let place = *self.places.entry((row.stack, row.labels, row.span)).or_insert(self.rows.len());
        match self.rows.get_mut(place) {
            Some(known) => known.weights.add(&row.weights),
            None => self.rows.push(row),
        }
    }
}

/// Returns a stack of at most `depth` frames. The leaf end is kept, as that is where the time goes.
fn stack(profile: &Profile, id: StackId, depth: usize) -> ShapedStack {
    let node = |id: StackId| profile.stacks.get(id.index()).copied();
    let mut nodes = std::iter::successors(node(id), |it| it.parent.and_then(node));
    let mut frames: Vec<FrameId> = nodes.by_ref().take(depth).map(|it| it.frame).collect();
    let cut = nodes.next().is_some();
    if cut {
        frames.pop();
    }
    ShapedStack { frames, root: cut.then_some(Synthetic::Truncated) }
}
