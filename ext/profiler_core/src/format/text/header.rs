//! The top of the report: one fact a line, its label before it.

use super::Paint;
use crate::format::units::{counted, date, duration};
use crate::format::{clean, honesty};
use crate::profile::{Profile, SampleType};

pub(super) fn header(profile: &Profile, paint: Paint) -> String {
    let mut text = String::new();
    let mut above = "";
    for (label, fact) in facts(profile) {
        // A label stands once over its lines.
        let shown = if label == above { "" } else { label };
        above = label;
        text.push_str(&paint.dim(&format!("{shown:<10}")));
        text.push_str(&clean(&fact));
        text.push('\n');
    }
    text
}

fn facts(profile: &Profile) -> Vec<(&'static str, String)> {
    let meta = &profile.meta;
    let mut facts = Vec::new();
    if !meta.program.is_empty() {
        facts.push(("program", format!("{} (pid {})", meta.program, meta.pid)));
    }
    if !meta.ruby.is_empty() {
        facts.push(("ruby", meta.ruby.clone()));
    }
    if !meta.modes.is_empty() {
        let by = if meta.engine.is_empty() { String::new() } else { format!(", engine {}", meta.engine) };
        facts.push(("mode", format!("{}{by}", meta.modes.join(" and "))));
    }
    let threads = counted(profile.threads.len() as u64, "thread");
    let took = duration(meta.duration_ns);
    facts.push(("time", format!("{took} from {}, {threads}", date(meta.started_at_ns))));
    facts.extend(honesty::interval(profile).map(|it| ("interval", it)));
    facts.push(("samples", samples(profile)));
    facts.extend(honesty::losses(profile).into_iter().map(|it| ("lost", it)));
    facts.push(("cost", honesty::cost(profile)));
    facts.extend(meta.user.iter().map(|(name, value)| ("with", format!("{name}: {value}"))));
    facts.extend(meta.notes.iter().map(|it| ("note", it.clone())));
    facts
}

fn samples(profile: &Profile) -> String {
    let samples = counted(profile.total().get(SampleType::Samples), "sample");
    match profile.stats.counts.captured_in_gc {
        0 => samples,
        in_gc => format!("{samples}; {} while collecting garbage", counted(in_gc, "tick")),
    }
}
