//! The time in which code was loaded, and for which gem.

use std::collections::BTreeMap;

use super::clock::Part;
use super::{At, Clock, Finding, Kind};
use crate::analysis::sites::Sites;
use crate::text::units::duration;

/// A part of the time, or for a server a note: what was loaded before its requests.
pub(super) fn find(sites: &Sites<'_>, clock: &Clock<'_>) -> Option<Finding> {
    let mut weight: u64 = 0;
    let mut packages: BTreeMap<Option<&str>, At> = BTreeMap::new();
    for (_, part, ns) in clock.rows() {
        let Part::Loading(load) = part else { continue };
        super::add(&mut weight, ns);
        if let Some(by) = load.by {
            packages.entry(load.package.as_deref()).or_default().add(by, None, ns);
        }
    }
    if clock.is_server {
        let all = clock.total.saturating_add(weight);
        let is_much = weight as f64 >= all as f64 * super::LEAST_SHARE;
        return (weight > 0 && is_much).then(|| Finding {
            kind: Kind::Loading,
            text: format!("loaded code for {}: left out, as it was before the requests", duration(weight)),
            weight,
            of: clock.of,
            share: None,
            place: None,
            command: command(),
        });
    }
    if !clock.is_worth(weight) {
        return None;
    }
    let (package, at) = packages.into_iter().rev().max_by_key(|(_, it)| it.weight)?;
    let place = at.place()?;
    let part =
        if at.weight >= weight / 10 * 9 { String::new() } else { format!(" {} of it", duration(at.weight)) };
    let what = match package {
        Some(package) => format!("{part} for {package}"),
        None if sites.is_app(place) && !sites.is_tool() => format!("{part} for its own files"),
        None => part,
    };
    let comma = if part_is_whole(&what) { "" } else { "," };
    Some(Finding {
        kind: Kind::Loading,
        text: format!("loading code{comma}{what}, required by {}", sites.name(place)),
        weight,
        of: clock.of,
        share: Some(clock.share(weight)),
        place: Some(place),
        command: command(),
    })
}

fn part_is_whole(what: &str) -> bool {
    what.is_empty() || what.starts_with(" for ")
}

fn command() -> String {
    "profiler report FILE --method '^Kernel#(require|require_relative|load)$'".into()
}
