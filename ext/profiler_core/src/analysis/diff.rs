//! The changes between two sides of one or more profiles each, and which of them exceed chance.
//!
//! A profile is a sample: two profiles of the same program always differ. The weight of a function is known
//! as precisely as the number and the weights of its samples allow. If a side has several runs, it is known
//! as precisely as these agree. A change is significant if fewer than one in twenty comparisons of equal
//! programs would show such a change, in any function, by chance. To that end, the probabilities are
//! corrected (Holm) for the number of functions that were compared.
//!
//! If a side has several runs, these can differ by more than the number and the weights of samples explain.
//! This excess is estimated from the function's own runs together with the median over all functions, which
//! counts as three runs. A function alone has four degrees of freedom, which say little, but functions do
//! differ.
//!
//! A mean in place of the median was raised by every garbage collection that fell into one run and not into
//! the next. With the mean, a method that had become a tenth slower was named in 61 % of comparisons, and
//! equal programs were called changed in 15 % instead of 4 %.
//!
//! Shares compare runs of different length, but when one function disappears, the shares of all others grow.
//! So a change of a share is a regression only if the weight has grown as well, by more than chance.

mod chance;
mod headline;
mod run;

use std::collections::BTreeMap;

use crate::profile::{Function, Profile, SampleType, ENDED};
use run::Run;

/// The quantity that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compare {
    /// The sample type of the weight.
    pub of: SampleType,
    /// Whether to include callees, instead of only the function's own weight.
    pub total: bool,
    /// Whether to compare the weight itself, instead of its share of the run.
    pub absolute: bool,
}

/// A function on both sides. The numbers are shares of a run (0 to 1), or weights if [`Compare::absolute`] is
/// set.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The function as on the newer side, or else as on the older.
    pub function: Function,
    /// The mean of the runs before.
    pub before: f64,
    /// The mean of the runs after.
    pub after: f64,
    /// The number of samples on both sides together.
    pub samples: u64,
    /// The probability that chance alone brings such a change to any of the functions; 1 if there are too few
    /// samples.
    pub chance: f64,
    /// The same numbers for the function's weight, before and after.
    pub weight: Weight,
}

/// The weight of a function: per run, or per request if all runs counted requests.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Weight {
    /// The mean of the runs before.
    pub before: f64,
    /// The mean of the runs after.
    pub after: f64,
    /// The probability, as [`Change::chance`].
    pub chance: f64,
}

/// The verdict on a function between two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The weight has grown.
    Slower,
    /// The weight has shrunk.
    Faster,
    /// The share has changed but the weight went the other way: a different amount of work was done.
    Moved,
    /// Chance can explain the change, or the rest of the program changed and not this function.
    Same,
}

impl Verdict {
    /// Returns the word for the verdict.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Slower => "slower",
            Self::Faster => "faster",
            Self::Moved => "moved",
            Self::Same => "same",
        }
    }
}

impl Change {
    /// Returns the size of the change.
    #[must_use]
    pub fn delta(&self) -> f64 {
        self.after - self.before
    }

    /// Returns whether the change exceeds chance.
    #[must_use]
    pub fn significant(&self) -> bool {
        self.chance < LEVEL
    }

    /// Returns the verdict on the function.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let grew = self.weight.after > self.weight.before;
        match self.significant() && self.weight.chance < LEVEL {
            false => Verdict::Same,
            true if grew != (self.delta() > 0.0) => Verdict::Moved,
            true if grew => Verdict::Slower,
            true => Verdict::Faster,
        }
    }

    /// Returns whether the function has become slower by more than this share.
    #[must_use]
    pub fn is_slower(&self, tolerance: f64) -> bool {
        let beyond = |before: f64, after: f64| after > before * (1.0 + tolerance);
        self.verdict() == Verdict::Slower
            && beyond(self.before, self.after)
            && beyond(self.weight.before, self.weight.after)
    }
}

/// The comparison of two sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Diff {
    /// The quantity that was compared.
    pub compare: Compare,
    /// The weight of everything, as the mean of the runs before.
    pub before: f64,
    /// The weight of everything, as the mean of the runs after.
    pub after: f64,
    /// The number of samples of all runs, before and after.
    pub samples: (u64, u64),
    /// The number of functions that had enough samples to be compared.
    pub compared: usize,
    /// The factor by which the runs of a side differ more than chance explains, in at least half of the
    /// functions; 1 if it is unknown.
    pub spread: f64,
    /// The number of runs, before and after.
    pub runs: (usize, usize),
    /// The Ruby function whose weight, including the C functions that it called, has changed most.
    pub(crate) reason: Option<(String, f64, f64)>,
    /// The number of requests of all runs, before and after, if all of them counted any. Weights are then per
    /// request.
    pub requests: Option<(u64, u64)>,
    /// How the runs that failed have ended, before and after.
    pub failed: [Vec<String>; 2],
    /// All functions: significant changes first, and the largest changes first among those.
    pub changes: Vec<Change>,
}

/// The probability below which a change is significant.
pub const LEVEL: f64 = 0.05;

/// The number of samples that a function needs, on both sides together. With fewer, no number is precise
/// enough to be tested.
const LEAST_SAMPLES: u64 = 16;

/// The weight, in runs, of the spread of all functions relative to that of a single one. Functions differ in
/// their spread: a garbage collection falls into one run and not into the next, while a long loop is the same
/// in all. With more weight on the common spread, the restless functions were called changed or, with a mean
/// that they raise, no change was ever found.
const PRIOR: f64 = 3.0;

/// The identity of a function in two versions of a program. If the name identifies the function, its file and
/// lines may change.
pub(crate) type Key = (String, String);

/// Returns the identity of `function`.
pub(crate) fn key(function: &Function) -> Key {
    let path = if function.method_name.is_empty() { function.path.clone() } else { String::new() };
    (function.name.clone(), path)
}

/// Compares `after` with `before`, each of which needs at least one profile.
#[must_use]
pub fn diff(before: &[&Profile], after: &[&Profile], compare: Compare) -> Diff {
    let runs = |side: &[&Profile]| side.iter().map(|it| Run::new(it, compare)).collect::<Vec<_>>();
    let mut sides = [runs(before), runs(after)];
    let mut functions: BTreeMap<Key, Function> = BTreeMap::new();
    for profile in before.iter().chain(after) {
        profile.functions.iter().for_each(|it| drop(functions.insert(key(it), it.clone())));
    }
    let mut rows: Vec<Row> =
        functions.into_iter().map(|(key, function)| Row::new(&key, function, &sides)).collect();
    rows.retain(|it| it.samples > 0 || it.before + it.after > 0.0);

    let tested = Tested::of(&rows, &sides);
    // Now compare the weights, whatever was compared before.
    let counted = before.iter().chain(after).all(|it| it.requests.count() > 0);
    for run in sides.iter_mut().flatten() {
        run.compare_weights(counted);
    }
    let weights: Vec<Row> =
        rows.iter().map(|it| Row::new(&key(&it.function), it.function.clone(), &sides)).collect();
    let tested_weights = Tested::of(&weights, &sides);
    let weights = weights.iter().zip(&tested_weights.chances).map(|(row, chance)| Weight {
        before: row.before,
        after: row.after,
        chance: *chance,
    });
    let mut changes: Vec<Change> = rows
        .into_iter()
        .zip(&tested.chances)
        .zip(weights)
        .map(|((row, chance), weight)| {
            let Row { function, before, after, samples, .. } = row;
            Change { function, before, after, samples, chance: *chance, weight }
        })
        .collect();
    changes.sort_by(|one, other| {
        let is_chance = |it: &Change| !it.significant();
        let size = |it: &Change| it.delta().abs();
        let named = |it: &Change| (it.function.name.clone(), it.function.path.clone());
        is_chance(one)
            .cmp(&is_chance(other))
            .then(size(other).total_cmp(&size(one)))
            .then_with(|| named(one).cmp(&named(other)))
    });
    let requests =
        |side: &[&Profile]| side.iter().fold(0_u64, |sum, it| sum.saturating_add(it.requests.count()));
    let requests = counted.then(|| (requests(before), requests(after)));
    let failed = [failures(before), failures(after)];
    let [before, after] = &sides;
    let site =
        |runs: &[Run], key: &Key| runs.iter().map(|it| it.site(key)).sum::<f64>() / runs.len().max(1) as f64;
    let reasons = changes.iter().map(|it| {
        let key = key(&it.function);
        (it.function.name.clone(), site(before, &key), site(after, &key))
    });
    let reason = reasons.max_by(|one, other| (one.2 - one.1).abs().total_cmp(&(other.2 - other.1).abs()));
    let mean = |runs: &[Run]| runs.iter().map(|it| it.all.weight).sum::<f64>() / runs.len().max(1) as f64;
    let samples = |runs: &[Run]| runs.iter().map(|it| it.all.samples).sum::<u64>();
    Diff {
        compare,
        before: mean(before),
        after: mean(after),
        samples: (samples(before), samples(after)),
        compared: tested.compared,
        spread: tested.spread,
        runs: (before.len(), after.len()),
        reason,
        requests,
        failed,
        changes,
    }
}

/// Returns how the runs of a side that failed have ended.
fn failures(side: &[&Profile]) -> Vec<String> {
    side.iter().filter_map(|profile| profile.meta.user.get(ENDED)).cloned().collect()
}

/// The test of all functions.
struct Tested {
    /// The probability for each function, corrected for their number.
    chances: Vec<f64>,
    compared: usize,
    spread: f64,
}

impl Tested {
    fn of(rows: &[Row], sides: &[Vec<Run>; 2]) -> Self {
        let free = (sides.iter().map(Vec::len).sum::<usize>().saturating_sub(2)) as f64;
        let unrest: Vec<f64> = rows.iter().filter(|it| it.is_tested()).map(|it| it.unrest).collect();
        let compared = unrest.len();
        let spread = if free > 0.0 {
            (chance::median(unrest) / chance::median_of_squares(free)).max(1.0)
        } else {
            1.0
        };
        let chances: Vec<Option<f64>> =
            rows.iter().map(|it| it.is_tested().then(|| it.chance(free, spread))).collect();
        Self { chances: chance::corrected(&chances), compared, spread }
    }
}

struct Row {
    function: Function,
    before: f64,
    after: f64,
    samples: u64,
    /// The variance of the difference that sampling alone explains.
    variance: f64,
    /// The distances of the runs of each side from their mean, in variances, summed up.
    unrest: f64,
}

impl Row {
    fn new(key: &Key, function: Function, sides: &[Vec<Run>; 2]) -> Self {
        let mut row = Self { function, before: 0.0, after: 0.0, samples: 0, variance: 0.0, unrest: 0.0 };
        for (runs, after) in sides.iter().zip([false, true]) {
            let values: Vec<(f64, f64)> = runs.iter().map(|it| it.value(key)).collect();
            let number = values.len().max(1) as f64;
            let mean = values.iter().map(|it| it.0).sum::<f64>() / number;
            *(if after { &mut row.after } else { &mut row.before }) = mean;
            row.samples += runs.iter().map(|it| it.of(key).samples).sum::<u64>();
            row.variance += values.iter().map(|it| it.1).sum::<f64>() / (number * number);
            // A run without the function says as little about its own variance as about the function.
            let common = values.iter().map(|it| it.1).sum::<f64>() / number;
            let far = |(value, variance): &(f64, f64)| (value - mean).powi(2) / variance.max(common);
            row.unrest += values.iter().map(far).filter(|it| it.is_finite()).sum::<f64>();
        }
        row
    }

    fn is_tested(&self) -> bool {
        self.samples >= LEAST_SAMPLES && self.variance > 0.0
    }

    /// Returns the probability before it is corrected for the number of functions.
    fn chance(&self, free: f64, spread: f64) -> f64 {
        if free == 0.0 {
            return chance::of_normal((self.after - self.before) / self.variance.sqrt());
        }
        // By luck, three runs can agree better than samples allow.
        let own = ((self.unrest + PRIOR * spread) / (free + PRIOR)).max(1.0);
        chance::of_student((self.after - self.before) / (self.variance * own).sqrt(), free + PRIOR)
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
