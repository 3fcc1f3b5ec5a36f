//! The limits of trust in a profile's numbers.

use super::{Finding, FindingKind};
use crate::profile::{Profile, Sample, SampleType, Weights};
use crate::record::State;
use crate::text::units::{count, duration, percent, round_duration};

/// The part of all ticks beyond which losing them is worth a finding.
const LOST: f64 = 0.01;
/// The number of lost ticks below which a finding would not be worth its line: a short program loses one or two
/// as it starts.
const FEWEST_LOST: u64 = 10;
/// The number of time samples below which a profile has few.
const FEW_SAMPLES: u64 = 200;
/// The factor by which an interval must have grown to be coarse.
const COARSE: u64 = 4;

/// Finds the first of these limits that applies: many ticks were lost, the interval is coarse, or samples are
/// few. A profile without samples has no shares to trust, and its header says so.
pub(super) fn find(profile: &Profile) -> Option<Finding> {
    let counts = &profile.stats.counts;
    let (dropped, samples) = (counts.dropped(), samples_of_code(profile));
    let ticks = dropped.saturating_add(counts.captured);
    // Files of other tools may have only sums.
    let is_counted = profile.sample_types.contains(&SampleType::Samples);
    let (requested_ns, effective_ns) = (profile.meta.interval_ns, profile.effective_interval_ns());
    let (weight, text) = if dropped >= FEWEST_LOST && dropped as f64 > ticks as f64 * LOST {
        let share = percent(dropped, ticks);
        (dropped, format!("coarse: {share} of the samples were dropped; later ones carry their time"))
    } else if requested_ns > 0 && effective_ns > requested_ns.saturating_mul(COARSE) {
        let (requested, effective) = (round_duration(requested_ns), duration(effective_ns));
        (effective_ns, format!("coarse: one sample per {effective}, {requested} requested"))
    } else if let Some(samples) =
        samples.filter(|it| requested_ns > 0 && (1..FEW_SAMPLES).contains(it) && is_counted)
    {
        (samples, format!("few samples: {}, so small shares are chance", count(samples)))
    } else {
        return None;
    };
    Some(Finding {
        kind: FindingKind::Trust,
        text,
        weight,
        of: SampleType::Samples,
        share: None,
        place: None,
        command: "profiler report FILE".into(),
    })
}

/// Returns the number of samples of threads that did not wait: a wait takes one sample, however long it is.
/// `None` if nearly all time was spent waiting.
fn samples_of_code(profile: &Profile) -> Option<u64> {
    let waited = |it: &&Sample| matches!(it.state, State::Waiting | State::Blocked | State::Gvl);
    let of = profile.default_sample_type();
    let mut waits = Weights::default();
    profile.samples.iter().filter(waited).for_each(|it| waits.add(&it.weights));
    let all = profile.total();
    let rest = |of| all.get(of).saturating_sub(waits.get(of));
    (rest(of) as f64 >= all.get(of) as f64 * super::MIN_SHARE).then(|| rest(SampleType::Samples))
}
