//! The place and class of the objects that took the most memory, or the place and library of memory from
//! malloc.

use std::collections::BTreeMap;

use super::{At, Finding, FindingKind};
use crate::analysis::allocations::{CLASS, LIBRARY, OWNER};
use crate::analysis::sites::Sites;
use crate::ids::FunctionId;
use crate::memory::owner_name::UNREFERENCED;
use crate::profile::{Profile, Sample, SampleType};
use crate::record::frame::Synthetic;
use crate::text::units::{self, percent};

/// The minimum share of all bytes that is worth a finding.
const MIN_SHARE: f64 = 0.20;
/// The minimum number of bytes that is worth a finding.
const MIN_BYTES: u64 = 1 << 20;
/// The part of the objects that must not be live at the end for them to have died young.
const DEAD: f64 = 0.95;

/// Finds leaked memory, then live objects or memory, then allocated ones. If no time was measured, the reader
/// wants the last two however small they are.
pub(super) fn find(profile: &Profile, sites: &Sites<'_>) -> Vec<Finding> {
    let is_timed = [SampleType::Wall, SampleType::Cpu].iter().any(|it| profile.sample_types.contains(it));
    let heaviest = |of| {
        heaviest(profile, sites, of, |sample| !is_leaked(sample))
            .filter(|(at, _, share)| !is_timed || (*share >= MIN_SHARE && at.weight >= MIN_BYTES))
    };
    let live = heaviest(SampleType::InuseSpace).map(|(at, class, share)| Finding {
        kind: FindingKind::Live,
        text: live(sites, &at, class),
        weight: at.weight,
        of: SampleType::InuseSpace,
        share: Some(share),
        place: at.place(),
        command: "profiler report FILE --type inuse_space".into(),
    });
    let allocated = heaviest(SampleType::AllocSpace).map(|(at, class, share)| Finding {
        kind: FindingKind::Allocations,
        text: format!("allocated: {}{}", objects(sites, &at, class), dead(profile, sites, &at, class)),
        weight: at.weight,
        of: SampleType::AllocSpace,
        share: Some(share),
        place: at.place(),
        command: "profiler report FILE --type alloc_space".into(),
    });
    leaked(profile, sites).into_iter().chain(live).chain(allocated).collect()
}

fn is_leaked(sample: &Sample) -> bool {
    sample.label(OWNER) == Some(UNREFERENCED)
}

/// Finds live memory to which nothing in the process refers.
fn leaked(profile: &Profile, sites: &Sites<'_>) -> Option<Finding> {
    let found = heaviest(profile, sites, SampleType::InuseSpace, is_leaked);
    let (at, what, share) = found.filter(|(at, ..)| at.weight >= MIN_BYTES)?;
    let What::Memory(library) = what else { return None };
    let (amount, name) = (units::bytes(at.weight), title(sites, &at));
    Some(Finding {
        kind: FindingKind::Live,
        text: format!("leaked: nothing refers to {amount}, allocated in {name} by {library}"),
        weight: at.weight,
        of: SampleType::InuseSpace,
        share: Some(share),
        place: at.place(),
        command: format!("profiler report FILE --type inuse_space --by {OWNER}"),
    })
}

fn live(sites: &Sites<'_>, at: &At, what: What<'_>) -> String {
    match what {
        What::Memory(library) => format!(
            "{} of C memory still held, allocated in {} by {library}",
            units::bytes(at.weight),
            title(sites, at)
        ),
        What::Objects(_) => format!("live at the end: {}", objects(sites, at, what)),
    }
}

fn objects(sites: &Sites<'_>, at: &At, what: What<'_>) -> String {
    let (amount, name) = (units::bytes(at.weight), title(sites, at));
    match what {
        What::Memory(library) => format!("{amount} of C memory in {name} by {library}"),
        What::Objects("") => format!("{amount} of objects in {name}"),
        What::Objects(class) => format!("{amount} of {class} in {name}"),
    }
}

fn title(sites: &Sites<'_>, at: &At) -> String {
    at.place().map_or("".into(), |it| sites.title(it).to_string())
}

/// The class of objects, which is empty in profiles of tools that do not note it, or the library that has
/// allocated memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What<'profile> {
    Objects(&'profile str),
    Memory(&'profile str),
}

impl<'profile> What<'profile> {
    fn of(sample: &'profile Sample) -> Self {
        match sample.label(LIBRARY).filter(|_| sample.label(CLASS).is_none()) {
            Some(library) => Self::Memory(library),
            None => Self::Objects(sample.label(CLASS).unwrap_or_default()),
        }
    }
}

/// Returns the function and class, or library, with the most weight in these samples, with their share of all.
/// Samples without a stack are only in the total, as there is no place to look at.
fn heaviest<'profile>(
    profile: &'profile Profile,
    sites: &Sites<'_>,
    of: SampleType,
    counts: impl Fn(&Sample) -> bool,
) -> Option<(At, What<'profile>, f64)> {
    let mut sums: BTreeMap<(FunctionId, What<'_>), At> = BTreeMap::new();
    let mut total: u64 = 0;
    for sample in profile.samples.iter().filter(|it| it.weights.get(of) > 0) {
        let bytes = sample.weights.get(of);
        super::add(&mut total, bytes);
        let Some(site) = sites.nearest(sample.stack).filter(|_| counts(sample)) else { continue };
        if profile.function(site.function).is_some_and(|it| it.name == Synthetic::Unsampled.name()) {
            continue;
        }
        sums.entry((site.function, What::of(sample))).or_default().add(site, None, bytes);
    }
    let ((_, class), at) = sums.into_iter().max_by_key(|(key, at)| (at.weight, std::cmp::Reverse(*key)))?;
    let share = at.weight as f64 / total.max(1) as f64;
    Some((at, class, share))
}

/// Describes how much of what was allocated there was no longer live, if live objects were tracked and most
/// of these died.
fn dead(profile: &Profile, sites: &Sites<'_>, at: &At, what: What<'_>) -> String {
    let tracked = profile.sample_types.contains(&SampleType::InuseSpace);
    let Some(function) = at.place().map(|it| it.function).filter(|_| tracked) else { return String::new() };
    let there = |sample: &&Sample| {
        What::of(sample) == what && sites.nearest(sample.stack).is_some_and(|it| it.function == function)
    };
    let live = profile
        .samples
        .iter()
        .filter(there)
        .fold(0_u64, |sum, it| sum.saturating_add(it.weights.get(SampleType::InuseSpace)));
    let gone = at.weight.saturating_sub(live);
    if (gone as f64) < at.weight as f64 * DEAD {
        return String::new();
    }
    let fate = if matches!(what, What::Memory(_)) { "was freed" } else { "died" };
    format!(", {} {fate}", percent(gone, at.weight))
}
