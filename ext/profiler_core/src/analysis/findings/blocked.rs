//! C code that waited while it held the GVL, so that no other thread ran.

use std::collections::{BTreeMap, BTreeSet};

use super::clock::TimeUse;
use super::{details_of, At, Clock, Finding, FindingKind};
use crate::analysis::sites::Sites;
use crate::ids::FunctionId;
use crate::profile::{Profile, SampleType};
use crate::record::State;
use crate::text::units::{counted, duration};

pub(super) fn find(profile: &Profile, sites: &Sites<'_>, clock: &Clock<'_>) -> Option<Finding> {
    let mut sums: BTreeMap<FunctionId, (At, u64)> = BTreeMap::new();
    for (sample, part, weight) in clock.rows() {
        let site = sites.nearest(sample.stack).filter(|it| *part == TimeUse::Blocked && sites.is_code(*it));
        let Some(site) = site else { continue };
        let (at, blamed_ns) = sums.entry(site.function).or_default();
        at.add(site, profile.frames_of(sample.stack).next(), weight);
        super::add(blamed_ns, sample.weights.get(SampleType::GvlBlame));
    }
    let (at, blamed_ns) = sums.into_values().rev().max_by_key(|(at, _)| at.weight)?;
    let place = at.place().filter(|_| clock.is_significant(at.weight))?;
    let title = sites.title(place);
    let blocked = at.words(&title, at.callee(profile), clock);
    let waited = match waiting_threads(profile) {
        threads if threads > 0 && blamed_ns > 0 => format!(": {} waited", counted(threads, "thread")),
        _ => String::new(),
    };
    Some(clock.finding(
        FindingKind::Blocked,
        format!("blocked in {blocked} for {} without releasing the GVL{waited}", duration(at.weight)),
        at.weight,
        Some(place),
        details_of(sites.name(place)),
    ))
}

/// Returns the number of threads that waited for the GVL.
fn waiting_threads(profile: &Profile) -> u64 {
    let waits = profile.samples.iter().filter(|it| it.state == State::Gvl);
    let waits = waits.filter(|it| it.weights.get(SampleType::Wall) > 0);
    waits.map(|it| it.thread).collect::<BTreeSet<_>>().len() as u64
}
