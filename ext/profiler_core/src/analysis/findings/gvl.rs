//! Waiting for the GVL, and the function that held it.

use std::collections::BTreeMap;

use super::clock::TimeUse;
use super::{clause, At, Clock, Finding, FindingKind};
use crate::analysis::sites::Sites;
use crate::ids::FunctionId;
use crate::profile::{Profile, SampleType};
use crate::text::units::percent;

pub(super) fn find(profile: &Profile, sites: &Sites<'_>, clock: &Clock<'_>) -> Option<Finding> {
    let weight = clock.weight(|it| *it == TimeUse::Gvl);
    if !clock.is_significant(weight) {
        return None;
    }
    let mut holders: BTreeMap<FunctionId, At> = BTreeMap::new();
    for sample in &profile.samples {
        let blamed_ns = sample.weights.get(SampleType::GvlBlame);
        let holder = sites.nearest(sample.stack).filter(|it| blamed_ns > 0 && sites.is_code(*it));
        holder.into_iter().for_each(|it| holders.entry(it.function).or_default().add(it, None, blamed_ns));
    }
    let mut holders: Vec<At> = holders.into_values().collect();
    holders.sort_by_key(|it| std::cmp::Reverse(it.weight));
    let all = holders.iter().fold(0_u64, |sum, it| sum.saturating_add(it.weight));
    // Of the time that was waited, the part in which this function had the GVL.
    let held_ns = |it: &At| (weight as f64 * it.weight as f64 / all.max(1) as f64) as u64;
    let name = |it: &At| it.place().map(|place| sites.title(place)).unwrap_or_default();
    let held = match holders.as_slice() {
        [] => String::new(),
        [one, other, ..] if one.weight < all.div_ceil(2) => {
            let [first, second] = [one, other].map(|it| percent(held_ns(it), clock.total));
            format!(", {first} held by {} and {second} by {}", name(one), name(other))
        }
        [one, ..] => clause(held_ns(one), weight, clock, &format!("held by {}", name(one))),
    };
    Some(clock.finding(
        FindingKind::Gvl,
        format!("waiting for the GVL{held}"),
        weight,
        holders.first().and_then(At::place),
        "profiler report FILE --type gvl_blame".into(),
    ))
}
