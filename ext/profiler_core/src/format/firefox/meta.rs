//! The metadata of the file: how it was recorded, its categories and its kinds of markers.

use std::cmp::Reverse;
use std::io::Write;

use serde_json::json;

use super::thread::ThreadTables;
use crate::analysis::code_origin::Origin;
use crate::error::Error;
use crate::format::disclosure;
use crate::format::threads::busy;
use crate::profile::{Function, Profile, SampleType};
use crate::record::State;
use crate::text::clean;
use crate::text::units;

/// The version of the format.
const VERSION: u32 = 48;

/// The maximum number of threads that are shown when the file is opened.
const SHOWN: usize = 10;

/// Names and colours, in order. The first grey category is the front end's default, and the front end can
/// hide the samples in `Idle`. Other Ruby profilers use the same names.
const CATEGORIES: [(&str, &str); 8] = [
    ("Other", "grey"),
    ("Ruby", "purple"),
    ("gem", "lightblue"),
    ("Rails", "red"),
    ("cfunc", "yellow"),
    ("GC", "orange"),
    ("Idle", "transparent"),
    ("Stalled", "magenta"),
];

pub(super) const GC: usize = 5;
const IDLE: usize = 6;
pub(super) const STALLED: usize = 7;

/// Returns the category of a frame.
pub(super) fn category(function: &Function) -> usize {
    match Origin::of(function) {
        Origin::App | Origin::Ruby => 1,
        Origin::Gem => 2,
        Origin::Rails => 3,
        Origin::Cfunc => 4,
        Origin::Synthetic => 0,
    }
}

/// Returns the category of a leaf, if the state of the thread says more than the function.
pub(super) fn of_state(state: State) -> Option<usize> {
    match state {
        State::Running => None,
        State::Gc => Some(GC),
        State::Waiting => Some(IDLE),
        State::Gvl | State::Runnable | State::Blocked => Some(STALLED),
    }
}

pub(super) fn write(
    profile: &Profile,
    of: SampleType,
    title: &str,
    threads: &[ThreadTables<'_>],
    out: &mut impl Write,
) -> Result<(), Error> {
    let meta = &profile.meta;
    let busy = busy(profile, of);
    let mut shown: Vec<usize> = (0..threads.len()).collect();
    shown.sort_by_key(|place| {
        Reverse((busy.get(*place).copied(), threads.get(*place).map(ThreadTables::total)))
    });
    shown.truncate(SHOWN);
    let selected: Vec<usize> = shown.iter().take(1).copied().collect();
    shown.sort_unstable();
    let interval_ns = if meta.interval_ns == 0 { 1_000_000 } else { meta.interval_ns };
    // The front end leaves out a sample at the very end of the time.
    let last_ns = threads.iter().map(ThreadTables::last_ns).max().unwrap_or(0);
    let end_ns = meta.duration_ns.max(last_ns.saturating_add(interval_ns));
    let categories: Vec<_> = CATEGORIES
        .iter()
        .map(|(name, color)| json!({ "name": name, "color": color, "subcategories": ["Other"] }))
        .collect();
    let entry = |(label, value): (String, String)| json!({ "label": clean(&label), "format": "string", "value": clean(&value) });
    let facts: Vec<_> = facts(profile).into_iter().map(entry).collect();
    let text = json!({
        "interval": interval_ns as f64 / 1e6,
        "startTime": meta.started_at_ns as f64 / 1e6,
        "profilingStartTime": 0,
        "profilingEndTime": end_ns as f64 / 1e6,
        "processType": 0,
        "product": title,
        "stackwalk": 1,
        "version": 28,
        "preprocessedProfileVersion": VERSION,
        "symbolicated": true,
        "usesOnlyOneStackType": true,
        "sourceCodeIsNotOnSearchfox": true,
        "keepProfileThreadOrder": true,
        "importedFrom": "profiler",
        "profilerSampleType": of.name_and_unit().0,
        "mode": meta.modes.first().map_or("wall", String::as_str),
        "vernierUserMetadata": meta.user,
        "sampleUnits": { "time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns" },
        "initialVisibleThreads": shown,
        "initialSelectedThreads": selected,
        "categories": categories,
        "extra": [{ "label": "How it was taken", "entries": facts }],
        "markerSchema": schemas(),
    });
    serde_json::to_writer(out, &text).map_err(std::io::Error::from)?;
    Ok(())
}

/// Returns every figure of disclosure that the report's header has.
fn facts(profile: &Profile) -> Vec<(String, String)> {
    let meta = &profile.meta;
    let mut facts = Vec::new();
    let mut fact = |label: &str, value: String| facts.push((label.to_owned(), value));
    fact("profiler", meta.profiler_version.to_string());
    fact("ruby", meta.ruby.to_string());
    fact("mode", format!("{}, engine {}", meta.modes.join(" and "), meta.engine));
    disclosure::interval(profile).into_iter().for_each(|it| fact("interval", it));
    disclosure::wall(profile).into_iter().for_each(|it| fact("wall", it));
    for (number, reason) in disclosure::drops(profile) {
        fact("dropped", format!("{}: {reason}", units::counted(number, "tick")));
    }
    disclosure::caveats(profile).into_iter().for_each(|it| fact("also", it));
    match disclosure::timeline(profile) {
        Some(it) => fact("timeline", it),
        None => fact("timeline", "none was kept: the order in time is arbitrary, the sums are exact".into()),
    }
    disclosure::overhead(profile).into_iter().for_each(|it| fact("overhead", it));
    meta.sentences().into_iter().for_each(|it| fact("note", it));
    facts
}

fn schemas() -> serde_json::Value {
    let shown = json!(["marker-chart", "marker-table", "timeline-overview"]);
    let field = |key: &str, label: &str| json!({ "key": key, "label": label, "format": "string" });
    json!([
        { "name": "GC", "display": shown, "tooltipLabel": "garbage collection: {marker.data.kind}",
          "tableLabel": "{marker.data.kind} {marker.data.reason}", "chartLabel": "{marker.data.kind}",
          "data": [field("kind", "Kind"), field("reason", "Reason")] },
        { "name": "GVL", "display": shown, "tooltipLabel": "waiting for the GVL", "tableLabel": "waiting for the GVL",
          "chartLabel": "GVL", "data": [] },
        { "name": "Marker", "display": shown, "tooltipLabel": "{marker.name}", "tableLabel": "{marker.name}",
          "chartLabel": "{marker.name}", "data": [] },
    ])
}
