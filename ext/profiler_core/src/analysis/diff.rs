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
//! counts as three runs. A single function has four degrees of freedom, which say little, but functions do
//! differ.
//!
//! A wait is measured whole, so its few records do not say how much it varies. With three runs per side, those
//! runs do.
//!
//! A mean in place of the median was raised by every garbage collection that fell into one run and not into
//! the next. With the mean, a method that had become a tenth slower was named in 61 % of comparisons, and
//! equal programs were called changed in 15 % instead of 4 %.
//!
//! Shares compare runs of different length, but when one function disappears, the shares of all others grow.
//! So a change of a share is a regression only if the weight has grown as well, by more than chance.

mod chance;
mod headline;
mod reason;
mod run;
mod tested;

use std::collections::BTreeMap;

use crate::profile::{Function, Profile, SampleType, ENDED};
use reason::Reason;
use run::{Known, Run};
use tested::Tested;

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
    /// The function's weight, before and after.
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
        if !self.significant() || self.weight.chance >= LEVEL {
            Verdict::Same
        } else if grew != (self.delta() > 0.0) {
            Verdict::Moved
        } else if grew {
            Verdict::Slower
        } else {
            Verdict::Faster
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
    /// The Ruby function whose weight has changed most.
    reason: Option<Reason>,
    /// The wall clock time without a CPU, as the means of the runs before and after.
    without_cpu: [f64; 2],
    /// The number of requests of all runs, before and after, if all of them counted any. [`Change::weight`]
    /// is then per request; `before` and `after` stay per run.
    pub requests: Option<(u64, u64)>,
    /// How the runs that failed have ended, before and after.
    pub failed: [Vec<String>; 2],
    /// All functions: significant changes first; within each group, the largest changes first.
    pub changes: Vec<Change>,
}

/// The probability below which a change is significant.
pub const LEVEL: f64 = 0.05;

/// The number of samples that a function needs, on both sides together. With fewer, no number is precise
/// enough to be tested.
const MIN_SAMPLES: u64 = 16;

/// The number of runs of a side from which on these say how much a wait varies.
pub const ENOUGH_RUNS: usize = 3;

/// The smallest standard deviation of a wait, as a part of it: runs can agree by luck.
const MIN_DEVIATION: f64 = 0.01;

/// The weight, in runs, of the spread of all functions relative to that of a single one. Functions differ in
/// their spread: a garbage collection falls into one run and not into the next, while a long loop is the same
/// in all. With more weight on the common spread, functions that vary a lot were falsely called changed. With
/// a mean in place of the median, such functions raised the spread until no change was found.
const PRIOR: f64 = 3.0;

/// The identity of a function in two versions of a program. If the name identifies the function, its file and
/// lines may change.
pub(crate) type FunctionIdentity = (String, String);

/// Returns the identity of `function`.
pub(crate) fn key(function: &Function) -> FunctionIdentity {
    let path = if function.method_name.is_empty() { function.path.clone() } else { String::new() };
    (function.name.clone(), path)
}

/// Compares `after` with `before`, each of which needs at least one profile.
#[must_use]
pub fn diff(before: &[&Profile], after: &[&Profile], compare: Compare) -> Diff {
    let runs = |side: &[&Profile]| side.iter().map(|it| Run::new(it, compare)).collect::<Vec<_>>();
    let mut sides = [runs(before), runs(after)];
    let rows = rows(before.iter().chain(after), &sides);
    let tested = Tested::of(&rows, &sides);
    // Now compare the weights, whatever was compared before.
    let counted = before.iter().chain(after).all(|it| it.requests.count() > 0);
    for run in sides.iter_mut().flatten() {
        run.compare_weights(counted);
    }
    let weights = weights(&rows, &sides);
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
        let size = |it: &Change| rounded(it.delta().abs());
        let significant_first = other.significant().cmp(&one.significant());
        significant_first
            .then(size(other).total_cmp(&size(one)))
            .then_with(|| one.function.name.cmp(&other.function.name))
            .then_with(|| one.function.path.cmp(&other.function.path))
    });
    let requests =
        |side: &[&Profile]| side.iter().fold(0_u64, |sum, it| sum.saturating_add(it.requests.count()));
    let requests = counted.then(|| (requests(before), requests(after)));
    let failed = [failures(before), failures(after)];
    let reason = reason::find(&sides);
    let [before, after] = &sides;
    let samples = |runs: &[Run]| runs.iter().map(|it| it.all.samples).sum::<u64>();
    Diff {
        compare,
        before: mean(before, |it| it.all.weight),
        after: mean(after, |it| it.all.weight),
        without_cpu: [before, after].map(|runs| mean(runs, |it| it.without_cpu)),
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

/// Returns a row for each function of the profiles that any run knows.
fn rows<'profiles>(
    profiles: impl Iterator<Item = &'profiles &'profiles Profile>,
    sides: &[Vec<Run>; 2],
) -> Vec<Row> {
    let mut functions: BTreeMap<FunctionIdentity, Function> = BTreeMap::new();
    for profile in profiles {
        profile.functions.iter().for_each(|it| drop(functions.insert(key(it), it.clone())));
    }
    functions
        .into_iter()
        .map(|(key, function)| Row::new(function, sides, |it| it.value(&key)))
        .filter(|it| it.samples > 0 || it.before + it.after > 0.0)
        .collect()
}

/// Returns the weight of each row's function, from runs that compare weights.
fn weights(rows: &[Row], sides: &[Vec<Run>; 2]) -> Vec<Weight> {
    let rows: Vec<Row> = rows
        .iter()
        .map(|row| (key(&row.function), row.function.clone()))
        .map(|(key, function)| Row::new(function, sides, |it| it.value(&key)))
        .collect();
    let chances = Tested::of(&rows, sides).chances;
    rows.iter()
        .zip(chances)
        .map(|(row, chance)| Weight { before: row.before, after: row.after, chance })
        .collect()
}

/// Returns how the runs of a side that failed have ended.
fn failures(side: &[&Profile]) -> Vec<String> {
    side.iter().filter_map(|profile| profile.meta.user.get(ENDED)).cloned().collect()
}

/// A function with its means of both sides.
struct Row {
    function: Function,
    before: f64,
    after: f64,
    samples: u64,
    /// The variance of the difference that sampling alone explains.
    variance: f64,
    /// The distances of the runs of each side from their mean, in variances, summed up.
    unrest: f64,
    /// The variance of the difference by the runs alone; `None` if the function did not mostly wait, or there
    /// are not enough runs.
    measured: Option<f64>,
}

impl Row {
    /// Collects what each run knows about the function.
    fn new(function: Function, sides: &[Vec<Run>; 2], known: impl Fn(&Run) -> Known) -> Self {
        let sides = sides.each_ref().map(|runs| runs.iter().map(&known).collect::<Vec<Known>>());
        let mut row = Self {
            function,
            before: mean(&sides[0], |it| it.value),
            after: mean(&sides[1], |it| it.value),
            samples: sides.iter().flatten().map(|it| it.samples).sum(),
            variance: 0.0,
            unrest: 0.0,
            measured: None,
        };
        for (runs, mean_value) in sides.iter().zip([row.before, row.after]) {
            // A run without the function says as little about its own variance as about the function.
            let common = mean(runs, |it| it.variance);
            row.variance += common / runs.len().max(1) as f64;
            let far = |it: &Known| (it.value - mean_value).powi(2) / it.variance.max(common);
            row.unrest += runs.iter().map(far).filter(|it| it.is_finite()).sum::<f64>();
        }
        row.measured = row.variance_of_waits(&sides);
        row
    }

    fn variance_of_waits(&self, sides: &[Vec<Known>; 2]) -> Option<f64> {
        let all = || sides.iter().flatten();
        let mostly_waits =
            all().map(|it| it.waited).sum::<f64>() > all().map(|it| it.value).sum::<f64>() / 2.0;
        if !mostly_waits || sides.iter().any(|it| it.len() < ENOUGH_RUNS) {
            return None;
        }
        let means = [self.before, self.after];
        let squares =
            |(runs, mean): (&Vec<Known>, f64)| runs.iter().map(|it| (it.value - mean).powi(2)).sum::<f64>();
        let squares: f64 = sides.iter().zip(means).map(squares).sum();
        let free = all().count().saturating_sub(2) as f64;
        let least = (MIN_DEVIATION * self.before.max(self.after)).powi(2);
        Some((squares / free).max(least) * sides.iter().map(|it| 1.0 / it.len() as f64).sum::<f64>())
    }

    fn is_sampled(&self) -> bool {
        self.samples >= MIN_SAMPLES && self.variance > 0.0
    }

    /// Returns the probability before it is corrected for the number of functions; `None` if too little is
    /// known.
    fn chance(&self, free: f64, spread: f64) -> Option<f64> {
        let delta = self.after - self.before;
        if let Some(variance) = self.measured {
            return Some(chance::of_student(delta / variance.sqrt(), free));
        }
        if !self.is_sampled() {
            return None;
        }
        if free == 0.0 {
            return Some(chance::of_normal(delta / self.variance.sqrt()));
        }
        // By luck, three runs can agree better than samples allow.
        let own = ((self.unrest + PRIOR * spread) / (free + PRIOR)).max(1.0);
        Some(chance::of_student(delta / (self.variance * own).sqrt(), free + PRIOR))
    }
}

/// Returns the mean of some number of all runs.
fn mean<T>(runs: &[T], number: impl Fn(&T) -> f64) -> f64 {
    runs.iter().map(number).sum::<f64>() / runs.len().max(1) as f64
}

/// Rounds to ten digits. Sums of the same weights in another order differ in their last digits, and equal changes
/// are ordered by name.
fn rounded(value: f64) -> f64 {
    if value <= 0.0 {
        return 0.0;
    }
    let digits = 10_f64.powi(9 - value.log10().floor() as i32);
    (value * digits).round() / digits
}

#[cfg(all(test, not(loom)))]
mod tests;
