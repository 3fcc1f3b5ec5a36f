//! A run: the weight of each function in it, and how well that is known.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::{key, Compare, Key};
use crate::ids::Id;
use crate::profile::{Profile, Sample};
use crate::record::State;

/// A weight and how well it is known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Weighed {
    pub(super) weight: f64,
    pub(super) samples: u64,
    /// Variance, if samples fell by chance and each brought its weight.
    pub(super) variance: f64,
}

impl Weighed {
    fn add(&mut self, sample: &Sample, compare: Compare) {
        let weight = sample.weights.get(compare.of) as f64;
        // Allocations come in numbers of their own, so that a record is what a row has one of at least.
        let records = sample.weights.get(crate::profile::SampleType::Samples).max(1);
        // Ticks weigh about the same each. What is measured at its end weighs as much as came together by then, which varies
        // as much as its mean.
        let varies = if sample.state == State::Running { 1.2 } else { 2.0 };
        self.weight += weight;
        self.samples += if weight > 0.0 { records } else { 0 };
        self.variance += varies * weight * weight / records as f64;
    }
}

pub(super) struct Run {
    pub(super) all: Weighed,
    functions: HashMap<Key, Weighed, FxBuildHasher>,
    absolute: bool,
}

impl Run {
    pub(super) fn new(profile: &Profile, compare: Compare) -> Self {
        let mut all = Weighed::default();
        let mut own: Vec<Weighed> = vec![Weighed::default(); profile.functions.len()];
        // The turn at which a function was last met.
        let mut seen = vec![0; own.len()];
        for (turn, sample) in (1_usize..).zip(&profile.samples) {
            all.add(sample, compare);
            let depth = if compare.total { usize::MAX } else { 1 };
            for frame in profile.frames_of(sample.stack).take(depth) {
                let place = frame.function.index();
                let (Some(row), Some(seen)) = (own.get_mut(place), seen.get_mut(place)) else { continue };
                if std::mem::replace(seen, turn) != turn {
                    row.add(sample, compare);
                }
            }
        }
        let mut functions: HashMap<Key, Weighed, FxBuildHasher> = HashMap::default();
        for (function, it) in profile.functions.iter().zip(own) {
            let sum = functions.entry(key(function)).or_default();
            sum.weight += it.weight;
            sum.samples += it.samples;
            sum.variance += it.variance;
        }
        Self { all, functions, absolute: compare.absolute }
    }

    pub(super) fn of(&self, key: &Key) -> Weighed {
        self.functions.get(key).copied().unwrap_or_default()
    }

    /// The number that is compared, and its variance.
    pub(super) fn value(&self, key: &Key) -> (f64, f64) {
        let it = self.of(key);
        if self.absolute {
            return (it.weight, it.variance);
        }
        let all = self.all.weight.max(1.0);
        let share = it.weight / all;
        // What is not in it counts against it.
        let rest = (self.all.variance - it.variance).max(0.0);
        let variance = ((1.0 - share).powi(2) * it.variance + share.powi(2) * rest) / (all * all);
        (share, variance)
    }
}
