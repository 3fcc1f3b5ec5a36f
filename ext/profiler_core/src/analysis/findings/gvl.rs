//! Waiting for the GVL, and the function that held it.

use std::collections::BTreeMap;

use super::clock::Part;
use super::{At, Clock, Finding, Kind};
use crate::analysis::sites::Sites;
use crate::ids::FunctionId;
use crate::profile::{Profile, SampleType};

pub(super) fn find(profile: &Profile, sites: &Sites<'_>, clock: &Clock<'_>) -> Option<Finding> {
    let weight = clock.weight(|it| *it == Part::Gvl);
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
    let places: Vec<_> = holders.iter().filter_map(At::place).collect();
    let held = match (places.first(), places.get(1)) {
        (None, _) => String::new(),
        (Some(one), Some(other)) if holders.first().is_some_and(|it| it.weight < all.div_ceil(2)) => {
            format!(", held by {} and {}", sites.title(*one), sites.title(*other))
        }
        (Some(one), _) => format!(", held by {}", sites.title(*one)),
    };
    Some(Finding {
        kind: Kind::Gvl,
        text: format!("waiting for the GVL{held}"),
        weight,
        of: clock.of,
        share: Some(clock.share(weight)),
        place: places.first().copied(),
        command: "profiler report FILE --type gvl_blame".into(),
    })
}
