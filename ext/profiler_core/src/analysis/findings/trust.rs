//! The limits of trust in a profile's numbers.

use super::{Finding, Kind};
use crate::profile::{Profile, Sample, SampleType, Weights};
use crate::record::State;
use crate::text::units::{count, duration, percent, round_duration};

/// More lost ticks than this part of all are worth a finding.
const LOST: f64 = 0.01;
/// Fewer samples of time than these are.
const FEW_SAMPLES: u64 = 200;
/// An interval that became this many times as long is.
const COARSE: u64 = 4;

/// The first of these that holds: much was lost, the interval is coarse, samples are few.
pub(super) fn find(profile: &Profile) -> Option<Finding> {
    let counts = &profile.stats.counts;
    let (dropped, samples) = (counts.dropped(), samples_of_code(profile));
    let ticks = dropped.saturating_add(counts.captured);
    // Files of other tools may have sums alone.
    let is_counted = profile.sample_types.contains(&SampleType::Samples);
    let (requested_ns, effective_ns) = (profile.meta.interval_ns, profile.effective_interval_ns());
    let (weight, text) = if dropped as f64 > ticks as f64 * LOST {
        let share = percent(dropped, ticks);
        (dropped, format!("coarse: {share} of the samples were dropped; the next ones have their time"))
    } else if requested_ns > 0 && effective_ns > requested_ns.saturating_mul(COARSE) {
        let (requested, effective) = (round_duration(requested_ns), duration(effective_ns));
        (effective_ns, format!("coarse: one sample per {effective}, {requested} requested"))
    } else if let Some(samples) = samples.filter(|it| requested_ns > 0 && *it < FEW_SAMPLES && is_counted) {
        (samples, format!("few samples: {}, so small shares are chance", count(samples)))
    } else {
        return None;
    };
    Some(Finding {
        kind: Kind::Trust,
        text,
        weight,
        of: SampleType::Samples,
        share: None,
        place: None,
        command: "profiler report FILE".into(),
    })
}

/// The number of samples of threads that did not wait: a wait takes one, however long it is. `None` where next to all time was waited.
fn samples_of_code(profile: &Profile) -> Option<u64> {
    let waited = |it: &&Sample| matches!(it.state, State::Waiting | State::Blocked | State::Gvl);
    let of = profile.default_sample_type();
    let mut waits = Weights::default();
    profile.samples.iter().filter(waited).for_each(|it| waits.add(&it.weights));
    let all = profile.total();
    let rest = |of| all.get(of).saturating_sub(waits.get(of));
    (rest(of) as f64 >= all.get(of) as f64 * super::LEAST_SHARE).then(|| rest(SampleType::Samples))
}
