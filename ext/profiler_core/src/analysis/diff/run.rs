//! A run: the weight of each function in it, and how precisely that is known.

use hashbrown::{HashMap, HashSet};
use rustc_hash::FxBuildHasher;

use super::{key, Compare, FunctionIdentity};
use crate::ids::{Id, StackId};
use crate::profile::{Frame, Function, Profile, Sample, SampleType};
use crate::record::State;

/// A weight and its precision.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Weighed {
    pub(super) weight: f64,
    pub(super) samples: u64,
    /// The variance if samples fell at random and each brought its weight.
    variance: f64,
    /// The weight of waits.
    waited: f64,
}

/// A number that a run brings to the comparison, and how precisely it is known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    /// The weight or the share.
    pub(super) value: f64,
    pub(super) variance: f64,
    pub(super) samples: u64,
    /// The part of the value that was waited.
    pub(super) waited: f64,
}

impl Weighed {
    /// Adds a row, and the time without a CPU of the same stack, which arrives with the row's records.
    fn add(&mut self, sample: &Sample, runnable: u64, compare: Compare) {
        let weight = (sample.weights.get(compare.of) + runnable) as f64;
        // Allocations come in numbers of their own, so a row counts as at least one record.
        let records = sample.weights.get(SampleType::Samples).max(1);
        // Ticks all weigh about the same. A measurement at its end weighs as much as had accumulated by then,
        // which varies as much as its mean.
        let varies = if sample.state == State::Running { 1.2 } else { 2.0 };
        self.weight += weight;
        self.waited += if matches!(sample.state, State::Waiting | State::Blocked) { weight } else { 0.0 };
        self.samples += if weight > 0.0 { records } else { 0 };
        self.variance += varies * weight * weight / records as f64;
    }
}

/// The weights of time without a CPU. Its rows have no records of their own: the rows of running, or of GC,
/// have them.
struct Runnable<'p>(HashMap<Place<'p>, u64, FxBuildHasher>);

/// The identity of a row without its state.
type Place<'p> = (StackId, usize, &'p [(String, String)]);

impl<'p> Runnable<'p> {
    fn of(profile: &'p Profile, compare: Compare) -> Self {
        let mut weights: HashMap<Place<'p>, u64, FxBuildHasher> = HashMap::default();
        for sample in profile.samples.iter().filter(|it| it.state == State::Runnable) {
            *weights.entry(place(sample)).or_default() += sample.weights.get(compare.of);
        }
        if !weights.is_empty() {
            // The other rows count by themselves.
            let has_records = |it: &&Sample| matches!(it.state, State::Running | State::Gc);
            let with: HashSet<Place<'p>, FxBuildHasher> =
                profile.samples.iter().filter(has_records).map(place).collect();
            weights.retain(|place, _| with.contains(place));
        }
        Self(weights)
    }

    /// Returns the weight to add to that of a row, or `None` if the row itself is added to another.
    fn beside(&mut self, sample: &'p Sample) -> Option<u64> {
        match sample.state {
            State::Runnable if self.0.contains_key(&place(sample)) => None,
            State::Running | State::Gc => Some(self.0.get_mut(&place(sample)).map_or(0, std::mem::take)),
            State::Runnable | State::Waiting | State::Gvl | State::Blocked => Some(0),
        }
    }
}

fn place(sample: &Sample) -> Place<'_> {
    (sample.stack, sample.thread, &sample.labels)
}

pub(super) struct Run {
    pub(super) all: Weighed,
    /// The part of the wall clock time in which threads could run but had no CPU.
    pub(super) without_cpu: f64,
    functions: HashMap<FunctionIdentity, Weighed, FxBuildHasher>,
    /// The weights by the innermost Ruby function: C functions work for their caller.
    sites: HashMap<FunctionIdentity, Weighed, FxBuildHasher>,
    absolute: bool,
    requests: u64,
    /// The divisor of all weights.
    parts: f64,
}

impl Run {
    pub(super) fn new(profile: &Profile, compare: Compare) -> Self {
        let mut all = Weighed::default();
        let mut own: Vec<Weighed> = vec![Weighed::default(); profile.functions.len()];
        // The number of the sample in which each function was last seen.
        let mut seen = vec![0; own.len()];
        let mut runnable = Runnable::of(profile, compare);
        let mut at_sites = vec![Weighed::default(); own.len()];
        for (turn, sample) in (1_usize..).zip(&profile.samples) {
            let Some(runnable) = runnable.beside(sample) else { continue };
            all.add(sample, runnable, compare);
            let mut frames = profile.frames_of(sample.stack).peekable();
            let leaf = frames.peek().copied();
            let is_ruby =
                |it: &Frame| profile.function(it.function).is_some_and(Function::is_ruby_outside_core);
            let site = frames.find(is_ruby).or(leaf);
            let sum = site.and_then(|it| at_sites.get_mut(it.function.index()));
            sum.into_iter().for_each(|it| it.add(sample, runnable, compare));
            let depth = if compare.total { usize::MAX } else { 1 };
            for frame in profile.frames_of(sample.stack).take(depth) {
                let place = frame.function.index();
                let (Some(row), Some(seen)) = (own.get_mut(place), seen.get_mut(place)) else { continue };
                if std::mem::replace(seen, turn) != turn {
                    row.add(sample, runnable, compare);
                }
            }
        }
        Self {
            all,
            without_cpu: without_cpu(profile, compare),
            functions: by_key(profile, own),
            sites: by_key(profile, at_sites),
            absolute: compare.absolute,
            requests: profile.requests.count(),
            parts: 1.0,
        }
    }

    /// Compares weights from now on: those per request, if requests were counted.
    pub(super) fn compare_weights(&mut self, by_request: bool) {
        self.absolute = true;
        self.parts = if by_request { self.requests.max(1) as f64 } else { 1.0 };
    }

    /// Returns the Ruby functions that have weight by themselves or by C functions that they called.
    pub(super) fn sites(&self) -> impl Iterator<Item = &FunctionIdentity> {
        self.sites.iter().filter(|(_, it)| it.weight > 0.0).map(|(key, _)| key)
    }

    /// Returns the weight at a Ruby function, including the C functions that it called. It is per request if
    /// weights are.
    pub(super) fn site(&self, key: &FunctionIdentity) -> Known {
        self.known(self.sites.get(key).copied().unwrap_or_default())
    }

    /// Returns the number of a function to compare.
    pub(super) fn value(&self, key: &FunctionIdentity) -> Known {
        self.known(self.functions.get(key).copied().unwrap_or_default())
    }

    fn known(&self, weighed: Weighed) -> Known {
        let samples = weighed.samples;
        if self.absolute {
            let [value, waited] = [weighed.weight, weighed.waited].map(|weight| weight / self.parts);
            return Known { value, waited, samples, variance: weighed.variance / (self.parts * self.parts) };
        }
        let all = self.all.weight.max(1.0);
        let [value, waited] = [weighed.weight, weighed.waited].map(|weight| weight / all);
        // Weight outside the function counts against it.
        let rest = (self.all.variance - weighed.variance).max(0.0);
        let variance = ((1.0 - value).powi(2) * weighed.variance + value.powi(2) * rest) / (all * all);
        Known { value, waited, samples, variance }
    }
}

/// Returns the time without a CPU: the rows that have it or, where waits are sampled, the kernel's own count.
fn without_cpu(profile: &Profile, compare: Compare) -> f64 {
    if compare.of != SampleType::Wall {
        return 0.0;
    }
    match profile.wall_ns(State::Runnable) {
        0 => profile.stats.run_delay_ns as f64,
        measured_ns => measured_ns as f64,
    }
}

/// Sums up the functions that are one in two versions of a program.
fn by_key(profile: &Profile, weights: Vec<Weighed>) -> HashMap<FunctionIdentity, Weighed, FxBuildHasher> {
    let mut sums: HashMap<FunctionIdentity, Weighed, FxBuildHasher> = HashMap::default();
    for (function, it) in profile.functions.iter().zip(weights) {
        let sum = sums.entry(key(function)).or_default();
        sum.weight += it.weight;
        sum.samples += it.samples;
        sum.variance += it.variance;
        sum.waited += it.waited;
    }
    sums
}
