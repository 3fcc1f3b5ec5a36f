//! Garbage collection, and the code that caused it.

use std::collections::BTreeMap;

use super::clock::TimeUse;
use super::{clause, is_nearly_all, At, Clock, Finding, FindingKind};
use crate::analysis::allocations::CLASS;
use crate::analysis::sites::Sites;
use crate::ids::FunctionId;
use crate::profile::{Profile, SampleType};
use crate::text::units::percent;

/// The methods with which Ruby code requests a collection.
const REQUESTS: [&str; 3] = ["GC.start", "ObjectSpace.garbage_collect", "GC.compact"];

pub(super) fn find(profile: &Profile, sites: &Sites<'_>, clock: &Clock<'_>) -> Option<Finding> {
    let mut weight: u64 = 0;
    let mut causes: BTreeMap<FunctionId, At> = BTreeMap::new();
    for (sample, _, ns) in clock.rows().filter(|(_, part, _)| **part == TimeUse::Gc) {
        super::add(&mut weight, ns);
        let Some(site) = sites.nearest(sample.stack).filter(|it| sites.is_code(*it)) else { continue };
        let request = profile.frames_of(sample.stack).find(|it| REQUESTS.contains(&sites.name(*it)));
        causes.entry(site.function).or_default().add(site, request, ns);
    }
    if !clock.is_significant(weight) {
        return None;
    }
    let cause = causes.into_values().rev().max_by_key(|it| it.weight).unwrap_or_default();
    let place = cause.place();
    let by = match (place, cause.callee(profile)) {
        (None, _) => String::new(),
        (Some(place), Some(request)) => {
            let words = format!("requested by {} in {}", request.title, sites.title(place));
            clause(request.weight, weight, clock, &words)
        }
        (Some(place), None) => {
            let most = allocated_in(profile, sites, place.function);
            let class = most.map(|it| format!(" (mostly {it})")).unwrap_or_default();
            let words = format!(" for objects of {}{class}", sites.title(place));
            if is_nearly_all(cause.weight, weight) {
                words
            } else {
                format!(", {}{words}", percent(cause.weight, clock.total))
            }
        }
    };
    Some(clock.finding(
        FindingKind::Gc,
        format!("collecting garbage{by}"),
        weight,
        place,
        "profiler report FILE --method 'garbage collection'".into(),
    ))
}

/// Returns the class with the most bytes among the objects that the function allocated, if objects were
/// sampled.
fn allocated_in<'profile>(
    profile: &'profile Profile,
    sites: &Sites<'_>,
    function: FunctionId,
) -> Option<&'profile str> {
    let mut classes: BTreeMap<&str, u64> = BTreeMap::new();
    for sample in &profile.samples {
        let bytes = sample.weights.get(SampleType::AllocSpace);
        if bytes > 0 && sites.nearest(sample.stack).is_some_and(|it| it.function == function) {
            if let Some(class) = sample.label(CLASS) {
                super::add(classes.entry(class).or_default(), bytes);
            }
        }
    }
    super::heaviest(&classes).map(|it| it.0)
}
