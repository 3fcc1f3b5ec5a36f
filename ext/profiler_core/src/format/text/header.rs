//! The top of the report: one fact per line, with its label before it.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::Paint;
use crate::analysis::allocations::is_of_memory;
use crate::analysis::gvl_blame;
use crate::format::display::display_name;
use crate::format::{disclosure, too_short};
use crate::ids::FunctionId;
use crate::profile::{Meta, Profile, SampleType};
use crate::record::State;
use crate::text::clean;
use crate::text::shorten;
use crate::text::units::{count, counted, date, duration};

const LABEL_COLUMNS: usize = 10;
/// The number of columns after which a fact continues on the next line, if the width of a line is not given.
const FACT_COLUMNS: usize = 70;

/// Returns the facts. A word that is longer than a line of `width` columns is shortened in the middle.
pub(super) fn header(profile: &Profile, width: Option<usize>, paint: Paint) -> String {
    let mut text = String::new();
    let mut above = "";
    for (label, fact) in facts(profile) {
        // A label is printed once for all of its lines.
        let shown = if label == above { "" } else { label };
        above = label;
        text.push_str(&paint.dim(&format!("{shown:<LABEL_COLUMNS$}")));
        text.push_str(&wrap(&clean(&fact), width));
        text.push('\n');
    }
    text
}

/// Describes how long the recording took, and when it began. Formats of other tools may lack one or both.
fn span(meta: &Meta) -> String {
    match (meta.duration_ns, meta.started_at_ns) {
        (0, 0) => "not recorded".into(),
        (took, 0) => duration(took),
        (0, start) => format!("from {}", date(start)),
        (took, start) => format!("{} from {}", duration(took), date(start)),
    }
}

pub(in crate::format) fn facts(profile: &Profile) -> Vec<(&'static str, String)> {
    let meta = &profile.meta;
    let mut facts = Vec::new();
    if !meta.program.is_empty() {
        // A merge has several processes, which its notes list.
        let pid = if meta.pid == 0 { String::new() } else { format!(" (pid {})", meta.pid) };
        facts.push(("program", format!("{}{pid}", meta.program)));
    }
    if !meta.ruby.is_empty() {
        facts.push(("ruby", meta.ruby.to_string()));
    }
    if !meta.modes.is_empty() {
        let by = if meta.engine.is_empty() { String::new() } else { format!(", engine {}", meta.engine) };
        facts.push(("mode", format!("{}{by}", meta.modes.join(" and "))));
    }
    facts.push(("time", format!("{}, {}", span(meta), counted(profile.threads.len() as u64, "thread"))));
    facts.extend(disclosure::wall(profile).map(|it| ("wall", it)));
    facts.extend(disclosure::cpu_waits(profile).map(|it| ("cpu", it)));
    facts.extend(behind(profile).map(|it| ("gvl", it)));
    facts.extend(disclosure::interval(profile).map(|it| ("interval", it)));
    let kind = if is_of_memory(profile) { "memory" } else { "objects" };
    facts.extend(disclosure::objects(profile).map(|it| (kind, it)));
    if profile.sample_types.contains(&SampleType::Samples) {
        facts.push(("samples", too_short(profile).map_or_else(|| samples(profile), |it| it.sentence)));
    }
    let drops = disclosure::drops(profile);
    if !drops.is_empty() {
        let sum = counted(disclosure::dropped(profile), "tick");
        facts.push(("dropped", format!("{sum}; their time is in the samples that followed")));
    }
    let drop = |(number, reason)| ("dropped", format!("{}: {reason}", counted(number, "tick")));
    facts.extend(drops.into_iter().map(drop));
    facts.extend(disclosure::caveats(profile).into_iter().map(|it| ("also", it)));
    facts.extend(disclosure::timeline(profile).map(|it| ("timeline", it)));
    facts.extend(disclosure::overhead(profile).map(|it| ("overhead", it)));
    facts.extend(meta.user.iter().map(|(name, value)| ("with", format!("{name}: {value}"))));
    facts.extend(markers(profile).map(|it| ("markers", it)));
    facts.extend(meta.sentences().into_iter().map(|it| ("note", it)));
    facts
}

/// Lists the functions that were to blame for most of the waiting for the GVL.
fn behind(profile: &Profile) -> Option<String> {
    const SHOWN: usize = 3;
    let blamed = gvl_blame::blamed(profile);
    let one = |(id, waited_ns): &(FunctionId, u64)| {
        let name = profile.function(*id).map_or(Cow::Borrowed(""), display_name);
        format!("{} behind {name}", duration(*waited_ns))
    };
    let shown: Vec<String> = blamed.iter().take(SHOWN).map(one).collect();
    let all = duration(profile.total().get(SampleType::GvlBlame));
    (!shown.is_empty()).then(|| format!("threads waited {all} for it, of which {}", shown.join(", ")))
}

/// Lists the names that took longest, with how often and how long they ran.
fn markers(profile: &Profile) -> Option<String> {
    const SHOWN: usize = 5;
    let mut names: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for marker in &profile.markers {
        let (times, total_ns) = names.entry(&marker.name).or_default();
        *times += 1;
        *total_ns = total_ns.saturating_add(marker.duration_ns);
    }
    let mut names: Vec<_> = names.into_iter().collect();
    names.sort_by_key(|(_, (times, total_ns))| Reverse((*total_ns, *times)));
    let more = names.len().saturating_sub(SHOWN);
    let one = |(name, (times, total_ns)): &(&str, (u64, u64))| match total_ns {
        0 => format!("{name} {}", counted(*times, "time")),
        _ => format!("{name} {}, {}", counted(*times, "time"), duration(*total_ns)),
    };
    let mut shown: Vec<String> = names.iter().take(SHOWN).map(one).collect();
    if more > 0 {
        shown.push(format!("and {}", counted(more as u64, "other name")));
    }
    (!shown.is_empty()).then(|| shown.join("; "))
}

fn samples(profile: &Profile) -> String {
    let of = |state| {
        let rows = profile.samples.iter().filter(move |it| it.state == state);
        rows.fold(0_u64, |sum, it| sum.saturating_add(it.weights.get(SampleType::Samples)))
    };
    let samples = count(profile.total().get(SampleType::Samples));
    match of(State::Gc) {
        0 => samples,
        in_gc => format!("{samples}, {} of them while collecting garbage", count(in_gc)),
    }
}

/// Wraps lines at spaces, if there are any.
fn wrap(fact: &str, width: Option<usize>) -> String {
    let most = width.map_or(FACT_COLUMNS, |it| it.saturating_sub(LABEL_COLUMNS).max(LABEL_COLUMNS));
    let mut text = String::new();
    let mut columns = 0;
    for word in fact.split(' ') {
        let word = if width.is_some() { shorten(word, most) } else { word.to_owned() };
        let length = word.chars().count();
        if columns > 0 && columns + 1 + length > most {
            text.push_str(&format!("\n{:LABEL_COLUMNS$}", ""));
            columns = 0;
        } else if columns > 0 {
            text.push(' ');
            columns += 1;
        }
        text.push_str(&word);
        columns += length;
    }
    text
}
