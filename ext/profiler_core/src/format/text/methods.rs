//! The details of some methods: callers, callees, and lines with their source.

use std::cmp::Reverse;

use super::cells::Fit;
use super::source::{push_source, SourceWeights};
use super::table::push_line;
use crate::analysis::method::{method, MethodDetails};
use crate::ids::FunctionId;
use crate::profile::{Function, Profile};

/// Returns the details of those of `functions` that have weight, the heaviest first. Includes at most `limit`
/// of them, and as many callers and callees of each; 0 means all.
#[must_use]
pub fn methods(profile: &Profile, functions: &[FunctionId], limit: usize, by: SourceWeights<'_>) -> String {
    let most = if limit == 0 { usize::MAX } else { limit };
    let found = functions.iter().filter_map(|id| Some((profile.function(*id)?, method(profile, *id, by.of))));
    let mut found: Vec<(&Function, MethodDetails)> = found.filter(|(_, it)| it.weight.total > 0).collect();
    found.sort_by_key(|(function, method)| {
        (Reverse(method.weight.total), Reverse(method.weight.own), &function.name, &function.path)
    });
    let mut text = String::new();
    for (place, (function, method)) in found.iter().take(most).enumerate() {
        if place > 0 {
            text.push('\n');
        }
        push_method(&mut text, profile, function, method, most, by);
    }
    text
}

fn push_method(
    text: &mut String,
    profile: &Profile,
    function: &Function,
    method: &MethodDetails,
    most: usize,
    by: SourceWeights<'_>,
) {
    let SourceWeights { of, whole, fit, .. } = by;
    push_line(text, &fit.paint().bold(&fit.function(function, fit.columns, "")));
    let weight = |weight: u64| fit.weight(of, weight, whole);
    push_line(text, &format!("  total {}   self {}", weight(method.weight.total), weight(method.weight.own)));
    let name = |id: Option<FunctionId>| {
        let function = id.and_then(|id| profile.function(id));
        function.map_or_else(|| "(nobody)".into(), |it| fit.function(it, fit.columns.saturating_sub(22), ""))
    };
    let line = |(id, more): (Option<FunctionId>, u64)| format!("    {}  {}", weight(more), name(id));
    push_calls(text, "callers", method.callers.iter().copied().map(line), most, fit);
    push_calls(text, "callees", method.callees.iter().map(|(id, more)| line((Some(*id), *more))), most, fit);
    push_source(text, &function.path, &method.lines, by);
}

fn push_calls(
    text: &mut String,
    title: &str,
    calls: impl ExactSizeIterator<Item = String>,
    most: usize,
    fit: Fit,
) {
    let left_out = calls.len().saturating_sub(most);
    for (place, call) in calls.take(most).enumerate() {
        if place == 0 {
            push_line(text, &format!("  {title}"));
        }
        push_line(text, &call);
    }
    if left_out > 0 {
        push_line(text, &fit.paint().dim(&format!("    {left_out} more")));
    }
}
