//! Statements that a request sends many times: N+1 queries.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{heaviest, At, Finding, Kind};
use crate::analysis::sites::Sites;
use crate::ids::FunctionId;
use crate::profile::{Profile, SampleType};
use crate::text::units::{count, duration};

/// The prefixes of a statement's marker, before its name, if it has one. A cached statement was not sent to a
/// database.
const MARKER: &str = "SQL";
const CACHED: &str = "SQL cached";
/// The minimum number of times that a request has to send a statement.
const MIN_TIMES: u64 = 10;
/// The maximum number of statements that are named.
const MAX_STATEMENTS: usize = 3;
/// The label of a request's endpoint.
const ENDPOINT: &str = "endpoint";
/// The modules whose methods send statements.
const SENDERS: [&str; 2] = ["ActiveRecord::", "Sequel::"];
/// The prefixes of what a framework calls for a request, and never for a statement. Active Record also wraps whole
/// requests, to time them and to choose a database: what such a wrapper calls sends nothing.
const OF_REQUESTS: [&str; 4] = ["Action", "AbstractController::", "Rack::", "Rails::"];

/// The executions of a statement.
#[derive(Clone, Copy, Default)]
struct Runs {
    times: u64,
    /// The executions that the query cache answered.
    cached: u64,
    spent_ns: u64,
}

pub(super) fn find(profile: &Profile, sites: &Sites<'_>) -> Option<Finding> {
    let senders = Senders::of(profile, sites);
    let by_endpoint = profile.requests.by(ENDPOINT);
    let counted = senders.endpoint.and_then(|it| by_endpoint.get(it)).map(|it| it.count);
    // Markers do not say which endpoint they belong to, so they count for the endpoint that sends the most. A
    // profile of one request counts no requests.
    let requests = counted.unwrap_or_else(|| profile.requests.count()).max(1);

    let mut statements: Vec<(&str, Runs)> = statements(profile).into_iter().collect();
    statements.retain(|(_, it)| it.times / requests >= MIN_TIMES);
    statements.sort_by_key(|(name, it)| (Reverse(it.times), *name));
    let (first, _) = *statements.first()?;
    statements.truncate(MAX_STATEMENTS);

    let times = |it: &Runs| format!("{} times", count(it.times / requests));
    let each: Vec<String> = statements
        .iter()
        .enumerate()
        .map(|(place, (name, it))| match place {
            0 => format!("{} queried {}", table(name), times(it)),
            _ => format!("{} {}", table(name), times(it)),
        })
        .collect();
    let request = if requests > 1 { " a request" } else { "" };
    let under = match senders.endpoint {
        Some(endpoint) => format!(" under {endpoint}"),
        None => senders.at.place().map(|it| format!(" from {}", sites.title(it))).unwrap_or_default(),
    };
    let sum = |of: fn(&Runs) -> u64| statements.iter().fold(0_u64, |sum, (_, it)| sum.saturating_add(of(it)));
    let cached = match sum(|it| it.cached) / requests {
        0 => String::new(),
        cached => format!(" ({} from the query cache)", count(cached)),
    };
    let spent = duration(sum(|it| it.spent_ns));
    Some(Finding {
        kind: Kind::Queries,
        text: format!("{}{request}{cached}{under}, {spent}: {}", each.join(", "), statement(first)),
        weight: sum(|it| it.times),
        of: SampleType::Samples,
        share: None,
        place: senders.at.place(),
        command: "profiler report FILE --markers".into(),
    })
}

/// Returns the statement that took the longest in total, and its time, ns.
pub(super) fn longest(profile: &Profile) -> Option<(&str, u64)> {
    let longest = statements(profile).into_iter().max_by_key(|(_, it)| it.spent_ns);
    longest.map(|(name, it)| (statement(name), it.spent_ns)).filter(|it| it.1 > 0)
}

/// Returns the statements of all markers, with their names in front. Cached executions belong to the same
/// statements.
fn statements(profile: &Profile) -> BTreeMap<&str, Runs> {
    let mut statements: BTreeMap<&str, Runs> = BTreeMap::new();
    for marker in &profile.markers {
        let is_cached = marker.name.starts_with(CACHED);
        let kind = if is_cached { CACHED } else { MARKER };
        let rest = marker.name.strip_prefix(kind).filter(|rest| rest.starts_with([' ', ':']));
        let Some(name) = rest.map(|it| it.trim_start_matches([' ', ':'])) else { continue };
        let runs = statements.entry(name).or_default();
        runs.times += 1;
        runs.cached += u64::from(is_cached);
        if !is_cached {
            super::add(&mut runs.spent_ns, marker.duration_ns);
        }
    }
    statements
}

/// Returns the statement without its name, which is `Item Load` in `Item Load: SELECT ...`.
fn statement(name: &str) -> &str {
    name.split_once(": ").map_or(name, |(_, statement)| statement)
}

/// Returns the table that a statement uses, or else its name, or else its first word.
fn table(name: &str) -> String {
    const BEFORE: [&str; 3] = ["FROM", "INTO", "UPDATE"];
    let mut words = statement(name).split_ascii_whitespace();
    let table = words.find(|it| BEFORE.iter().any(|word| it.eq_ignore_ascii_case(word))).and(words.next());
    let bare = |it: &str| it.chars().filter(|it| !"\"`[]();,".contains(*it)).collect::<String>();
    let table = table.map(bare).filter(|it| !it.is_empty() && it != "SELECT");
    table.unwrap_or_else(|| match name.split_once(": ") {
        Some((title, _)) => title.to_owned(),
        None => name.split(' ').next().unwrap_or(name).to_owned(),
    })
}

/// The sender of statements: the function of the app that spent the most time in them, and its endpoint.
struct Senders<'profile> {
    at: At,
    endpoint: Option<&'profile str>,
}

impl<'profile> Senders<'profile> {
    fn of(profile: &'profile Profile, sites: &Sites<'_>) -> Self {
        let of = profile.default_sample_type();
        let mut functions: BTreeMap<(Option<&str>, FunctionId), At> = BTreeMap::new();
        let mut endpoints: BTreeMap<&str, u64> = BTreeMap::new();
        for sample in profile.samples.iter().filter(|it| it.weights.get(of) > 0) {
            let starts_with =
                |frame, prefixes: &[&str]| prefixes.iter().any(|it| sites.name(frame).starts_with(it));
            let frames = profile.frames_of(sample.stack);
            let mut inner = frames.take_while(|it| !sites.is_app(*it) && !starts_with(*it, &OF_REQUESTS));
            let sends = inner.any(|it| starts_with(it, &SENDERS));
            let Some(site) = sites.app(sample.stack).filter(|_| sends) else { continue };
            let weight = sample.weights.get(of);
            let endpoint = sample.label(ENDPOINT);
            functions.entry((endpoint, site.function)).or_default().add(site, None, weight);
            endpoint.into_iter().for_each(|it| super::add(endpoints.entry(it).or_default(), weight));
        }
        let endpoint = heaviest(&endpoints).map(|it| it.0);
        let of_endpoint = functions.into_iter().rev().filter(|((it, _), _)| *it == endpoint);
        let at = of_endpoint.map(|it| it.1).max_by_key(|it| it.weight).unwrap_or_default();
        Self { at, endpoint }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::table;

    #[test]
    fn a_statement_is_on_a_table() {
        for (name, expected) in [
            ("Item Load: SELECT items.* FROM items WHERE id = ?", "items"),
            (r#"Item Load: SELECT "items".* FROM "items" WHERE id = ?"#, "items"),
            ("INSERT INTO `tags` (`name`) VALUES (?)", "tags"),
            ("Tag Update: update tags set name = ?", "tags"),
            ("SELECT ? FROM (SELECT ?)", "SELECT"),
            ("TRANSACTION: BEGIN", "TRANSACTION"),
            ("COMMIT", "COMMIT"),
        ] {
            assert_eq!(table(name), expected, "{name}");
        }
    }
}
