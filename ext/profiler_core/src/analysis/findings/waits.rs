//! Waits by their cause and the function that waits.

use std::collections::BTreeMap;

use super::clock::Part;
use super::{details_of, At, Clock, Finding, Kind};
use crate::analysis::sites::Sites;
use crate::analysis::wait_cause::Cause;
use crate::ids::FunctionId;
use crate::profile::Profile;

/// The most that a profile has.
const MOST: usize = 2;

pub(super) fn find(profile: &Profile, sites: &Sites<'_>, clock: &Clock<'_>) -> Vec<Finding> {
    let mut sums: BTreeMap<(FunctionId, Cause), At> = BTreeMap::new();
    for (sample, part, weight) in clock.rows() {
        let Part::Waiting(cause) = part else { continue };
        let Some(site) = sites.nearest(sample.stack).filter(|it| sites.is_code(*it)) else { continue };
        sums.entry((site.function, *cause)).or_default().add(site, sites.callee(sample.stack, site), weight);
    }
    let mut sums: Vec<_> = sums.into_iter().filter(|(_, at)| clock.is_worth(at.weight)).collect();
    sums.sort_by_key(|(key, at)| (std::cmp::Reverse(at.weight), *key));
    let finding = |((_, cause), at): &((FunctionId, Cause), At)| {
        let place = at.place()?;
        let name = sites.name(place);
        // Everybody knows what sleeps; which call waits for IO says what for.
        let called = at.callee(profile).filter(|_| matches!(cause, Cause::Io | Cause::Other | Cause::Event));
        let text = match called {
            Some(called) => format!("{} in {called}, called from {name}", cause.words()),
            None => format!("{} in {name}", cause.words()),
        };
        Some(Finding {
            kind: Kind::Waiting,
            text,
            weight: at.weight,
            of: clock.of,
            share: Some(clock.share(at.weight)),
            place: Some(place),
            command: details_of(name),
        })
    };
    sums.iter().take(MOST).filter_map(finding).collect()
}
