//! The comments for readers of other tools: how the profile was recorded.

use crate::format::disclosure;
use crate::profile::{Profile, SampleType};
use crate::text::{clean, units};

/// Returns a line for each fact.
pub(crate) fn comments(profile: &Profile) -> Vec<String> {
    let meta = &profile.meta;
    let mut comments = Vec::new();
    if !meta.ruby.is_empty() {
        comments.push(meta.ruby.to_string());
    }
    let engine = if meta.engine.is_empty() { String::new() } else { format!(", engine {}", meta.engine) };
    comments.push(format!("profiler {}, mode {}{engine}", meta.profiler_version, meta.modes.join(" and ")));
    comments.extend(disclosure::interval(profile));
    comments.extend(disclosure::objects(profile).map(|it| format!("objects: {it}")));
    if profile.sample_types.contains(&SampleType::Samples) {
        comments.push(units::counted(profile.total().get(SampleType::Samples), "sample"));
    }
    let dropped = |(number, reason)| format!("{} dropped: {reason}", units::counted(number, "tick"));
    comments.extend(disclosure::drops(profile).into_iter().map(dropped));
    comments.extend(disclosure::caveats(profile));
    comments.extend(disclosure::timeline(profile).map(|it| format!("timeline: {it}")));
    comments.extend(meta.sentences());
    comments.iter().map(|it| clean(it).into_owned()).collect()
}
