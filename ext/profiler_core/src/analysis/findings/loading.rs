//! The time in which code was loaded, and for which gem.

use std::collections::BTreeMap;

use super::clock::TimeUse;
use super::{At, Clock, Finding, FindingKind};
use crate::analysis::sites::Sites;
use crate::text::units::duration;

/// A package is named if it takes at least this part of the loading: one fifth.
const MIN_PACKAGE_DIVISOR: u64 = 5;

/// Finds the time spent loading.
pub(super) fn find(sites: &Sites<'_>, clock: &Clock<'_>) -> Option<Finding> {
    let mut weight: u64 = 0;
    // What was loaded, and the lines that required it.
    let mut packages: BTreeMap<Option<&str>, (u64, At)> = BTreeMap::new();
    let mut required = At::default();
    for (_, part, ns) in clock.rows() {
        let TimeUse::Loading(load) = part else { continue };
        super::add(&mut weight, ns);
        let (loaded, at) = packages.entry(load.package.as_deref()).or_default();
        super::add(loaded, ns);
        if let Some(by) = load.by {
            at.add(by, None, ns);
            required.add(by, None, ns);
        }
    }
    if !clock.is_significant(weight) {
        return None;
    }
    // Until a file is found, it belongs to no package.
    let named = packages.iter().filter(|(package, _)| package.is_some()).max_by_key(|(_, it)| it.0);
    let named = named.filter(|(_, it)| it.0 >= weight / MIN_PACKAGE_DIVISOR);
    let (package, spent, at) = match named {
        Some((package, (spent, at))) => (*package, *spent, at),
        None => (None, 0, &required),
    };
    let place = at.place();
    let is_own = packages.get(&None).is_some_and(|it| it.0 > weight / 2);
    let what = match package {
        Some(package) if spent >= weight / 10 * 9 => format!(" for {package}"),
        Some(package) => format!(", {} of it for {package}", clock.of.amount(spent)),
        None if is_own && !sites.is_tool() && place.is_some_and(|it| sites.is_app(it)) => {
            " of its own".into()
        }
        None => String::new(),
    };
    let by = place.map_or_else(String::new, |it| required_by(&sites.title(it)));
    Some(clock.finding(FindingKind::Loading, format!("loading code{what}{by}"), weight, place, command()))
}

/// Finds what a server loaded before its requests, which is left out of the percentages.
pub(super) fn find_start(clock: &Clock<'_>) -> Option<Finding> {
    let weight = clock.weight(|it| *it == TimeUse::Starting);
    let all = clock.total.saturating_add(weight);
    let is_much = weight as f64 >= all as f64 * super::MIN_SHARE;
    (weight > 0 && is_much).then(|| Finding {
        kind: FindingKind::Loading,
        text: format!("loaded code for {}: left out, because it was before the requests", duration(weight)),
        weight,
        of: clock.of,
        share: None,
        place: None,
        command: command(),
    })
}

/// Names the method that requires. Empty for the text of a file, which its place already names.
fn required_by(name: &str) -> String {
    let bare = name.strip_prefix("block in ").unwrap_or(name);
    if bare.starts_with('<') {
        String::new()
    } else {
        format!(", required by {name}")
    }
}

fn command() -> String {
    "profiler report FILE --requires".into()
}
