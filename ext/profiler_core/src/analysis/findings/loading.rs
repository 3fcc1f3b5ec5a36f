//! The time in which code was loaded, and for which gem.

use std::collections::BTreeMap;

use super::clock::Part;
use super::{At, Clock, Finding, Kind};
use crate::analysis::sites::Sites;
use crate::text::units::duration;

/// Finds the time spent loading: a part of the time or, for a server, a note on what was loaded before its
/// requests.
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
    // Until a file is found, it belongs to no package.
    let (package, at) = packages.iter().rev().max_by_key(|(package, it)| (package.is_some(), it.weight))?;
    let place = at.place()?;
    let spent =
        if at.weight >= weight / 10 * 9 { String::new() } else { format!("{} of it ", duration(at.weight)) };
    let what = match package {
        Some(package) if spent.is_empty() => format!(" for {package}"),
        Some(package) => format!(", {spent}for {package}"),
        None if sites.is_app(place) && !sites.is_tool() => " of its own".into(),
        None => String::new(),
    };
    Some(Finding {
        kind: Kind::Loading,
        text: format!("loading code{what}{}", required_by(sites.name(place))),
        weight,
        of: clock.of,
        share: Some(clock.share(weight)),
        place: Some(place),
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
