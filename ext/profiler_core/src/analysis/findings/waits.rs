//! Waits by their cause and by the function that waits.

use std::collections::BTreeMap;

use super::clock::TimeUse;
use super::{details_of, queries, At, Clock, Finding, FindingKind};
use crate::analysis::sites::Sites;
use crate::analysis::wait_cause::Cause;
use crate::ids::FunctionId;
use crate::profile::Profile;
use crate::text::units::duration;

/// The prefixes of methods that send statements to a database.
const CLIENTS: [&str; 6] = ["ActiveRecord::", "Sequel::", "PG::", "Mysql2::", "Trilogy", "SQLite3::"];
/// The maximum number of these findings in a profile.
const MAX_WAITS: usize = 2;

pub(super) fn find(profile: &Profile, sites: &Sites<'_>, clock: &Clock<'_>) -> Vec<Finding> {
    let mut sums: BTreeMap<(FunctionId, Cause), At> = BTreeMap::new();
    let mut in_clients: BTreeMap<(FunctionId, Cause), u64> = BTreeMap::new();
    for (sample, part, weight) in clock.rows() {
        let TimeUse::Waiting(cause) = part else { continue };
        let Some(site) = sites.nearest(sample.stack).filter(|it| sites.is_code(*it)) else { continue };
        let mut inner = profile.frames_of(sample.stack).take_while(|it| *it != site);
        if inner.any(|it| CLIENTS.iter().any(|client| sites.name(it).starts_with(client))) {
            super::add(in_clients.entry((site.function, *cause)).or_default(), weight);
        }
        sums.entry((site.function, *cause)).or_default().add(site, sites.callee(sample.stack, site), weight);
    }
    let mut sums: Vec<_> = sums.into_iter().filter(|(_, at)| clock.is_significant(at.weight)).collect();
    sums.sort_by_key(|(key, at)| (std::cmp::Reverse(at.weight), *key));
    // Markers know which statement it was, but not the stack.
    let statement = queries::longest(profile);
    let finding = |(key, at): &((FunctionId, Cause), At)| {
        let cause = key.1;
        let place = at.place()?;
        let title = sites.title(place);
        let half = at.weight / 2;
        let in_client =
            matches!(cause, Cause::Io | Cause::Other) && in_clients.get(key).is_some_and(|it| *it >= half);
        let statement = statement.filter(|it| in_client && it.1 >= half);
        // It is clear what a sleep does, but the call that waits for IO shows what it waits for.
        let called = at.callee(profile).filter(|_| matches!(cause, Cause::Io | Cause::Other | Cause::Event));
        let text = match called {
            _ if statement.is_some() => {
                let (statement, spent_ns) = statement.unwrap_or_default();
                format!("waiting for SQL in {title}, {}: {statement}", duration(spent_ns))
            }
            called => format!("{} in {}", cause.words(), at.words(&title, called, clock)),
        };
        Some(clock.finding(FindingKind::Waiting, text, at.weight, Some(place), details_of(sites.name(place))))
    };
    sums.iter().take(MAX_WAITS).filter_map(finding).collect()
}
