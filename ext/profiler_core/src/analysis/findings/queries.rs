//! A statement that a request sends many times: N+1 queries.

use std::collections::BTreeMap;

use super::{heaviest, At, Finding, Kind};
use crate::analysis::sites::Sites;
use crate::ids::FunctionId;
use crate::profile::{Profile, SampleType};
use crate::text::units::{count, duration};

/// The beginning of a marker of a statement, before its name, if it has one; a cached one went to no database.
const MARKER: &str = "SQL";
const CACHED: &str = "SQL cached";
/// The fewest times that a request has to send a statement.
const LEAST_TIMES: u64 = 10;
/// The label of a request's endpoint.
const ENDPOINT: &str = "endpoint";
/// The module whose methods send statements.
const SENDERS: &str = "ActiveRecord::";

pub(super) fn find(profile: &Profile, sites: &Sites<'_>) -> Option<Finding> {
    let mut statements: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for it in &profile.markers {
        let is_statement = it.name.strip_prefix(MARKER).is_some_and(|rest| rest.starts_with([' ', ':']));
        if is_statement && !it.name.starts_with(CACHED) {
            let (times, spent_ns) = statements.entry(&it.name).or_default();
            *times += 1;
            super::add(spent_ns, it.duration_ns);
        }
    }
    // A profile of one request counts none.
    let requests = profile.requests.count().max(1);
    let (name, (times, spent_ns)) = statements.into_iter().max_by_key(|(_, it)| *it)?;
    if times / requests < LEAST_TIMES {
        return None;
    }
    let statement = name.trim_start_matches(MARKER).trim_start_matches([' ', ':']);
    let (at, endpoint) = senders(profile, sites);
    let under = match endpoint {
        Some(endpoint) => format!(" under {endpoint}"),
        None => at.place().map(|it| format!(" from {}", sites.name(it))).unwrap_or_default(),
    };
    let each = if requests > 1 {
        format!("{} times a request", count(times / requests))
    } else {
        format!("{} times", count(times))
    };
    Some(Finding {
        kind: Kind::Queries,
        text: format!("the same query {each}{under}, {}: {statement}", duration(spent_ns)),
        weight: times,
        of: SampleType::Samples,
        share: None,
        place: at.place(),
        command: "profiler view FILE --in firefox".into(),
    })
}

/// The function of the app that was longest in statements, and its endpoint. Markers know only their time.
fn senders<'profile>(profile: &'profile Profile, sites: &Sites<'_>) -> (At, Option<&'profile str>) {
    let of = profile.default_sample_type();
    let mut functions: BTreeMap<FunctionId, At> = BTreeMap::new();
    let mut endpoints: BTreeMap<&str, u64> = BTreeMap::new();
    for sample in profile.samples.iter().filter(|it| it.weights.get(of) > 0) {
        let mut inner = profile.frames_of(sample.stack).take_while(|it| !sites.is_app(*it));
        let Some(site) =
            sites.app(sample.stack).filter(|_| inner.any(|it| sites.name(it).starts_with(SENDERS)))
        else {
            continue;
        };
        functions.entry(site.function).or_default().add(site, None, sample.weights.get(of));
        let endpoint = sample.labels.iter().find(|(name, _)| name == ENDPOINT);
        endpoint
            .into_iter()
            .for_each(|(_, it)| super::add(endpoints.entry(it).or_default(), sample.weights.get(of)));
    }
    let at = functions.into_values().rev().max_by_key(|it| it.weight).unwrap_or_default();
    (at, heaviest(&endpoints).map(|it| it.0))
}
