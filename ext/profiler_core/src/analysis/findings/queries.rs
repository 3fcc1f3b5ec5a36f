//! Statements that a request sends many times: N+1 queries.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{heaviest, At, Finding, FindingKind};
use crate::analysis::sites::Sites;
use crate::ids::{FunctionId, Id};
use crate::profile::timeline::Timeline;
use crate::profile::{Frame, Marker, Profile, SampleType};
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

impl Runs {
    fn add(&mut self, marker: &Marker, is_cached: bool) {
        self.times += 1;
        self.cached += u64::from(is_cached);
        if !is_cached {
            super::add(&mut self.spent_ns, marker.duration_ns);
        }
    }
}

/// The statements of an endpoint, and where the app sends the first of them.
struct Sent<'profile> {
    endpoint: Option<&'profile str>,
    /// The number of requests that sent them.
    requests: u64,
    statements: Vec<(&'profile str, Runs)>,
    place: Option<Frame>,
}

impl<'profile> Sent<'profile> {
    /// Returns the endpoint's statements that each request sends often, those sent most often first; `None` if there are none.
    fn often(
        profile: &'profile Profile,
        endpoint: Option<&'profile str>,
        statements: impl IntoIterator<Item = (&'profile str, Runs)>,
    ) -> Option<Self> {
        let by_endpoint = profile.requests.by(ENDPOINT);
        let with_endpoint = by_endpoint.values().fold(0, |sum, it| it.count.saturating_add(sum));
        let others = profile.requests.count().saturating_sub(with_endpoint);
        let counted = endpoint.map_or(Some(others), |it| by_endpoint.get(it).map(|it| it.count));
        // A profile of one request counts no requests.
        let requests = counted.unwrap_or_else(|| profile.requests.count()).max(1);
        let mut statements: Vec<(&str, Runs)> = statements.into_iter().collect();
        statements.retain(|(_, it)| it.times / requests >= MIN_TIMES);
        statements.sort_by_key(|(name, it)| (Reverse(it.times), *name));
        (!statements.is_empty()).then_some(Self { endpoint, requests, statements, place: None })
    }

    /// Attributes all statements to the endpoint whose code spent the most time in sending some: markers alone do not say
    /// which endpoint they belong to.
    fn by_senders(profile: &'profile Profile, sites: &Sites<'_>) -> Option<Self> {
        let senders = Senders::of(profile, sites);
        let sent = Self::often(profile, senders.endpoint, statements(profile))?;
        Some(Self { place: senders.at.place(), ..sent })
    }

    /// Attributes each statement to the endpoint that its thread served then, as the timeline says. Returns the endpoint that
    /// sent the most.
    fn by_time(profile: &'profile Profile, sites: &Sites<'_>) -> Option<Self> {
        let mut endpoints: BTreeMap<Option<&str>, BTreeMap<&str, (Runs, At)>> = BTreeMap::new();
        let lives = lives(profile);
        for (marker, name, is_cached) in queries(profile) {
            let thread = profile.threads.iter().position(|it| *it == marker.thread);
            let Some(life) = thread.and_then(|it| lives.get(it)) else { continue };
            let from_ns = marker.started_at_ns.saturating_sub(profile.meta.started_at_ns);
            let to_ns = from_ns.saturating_add(marker.duration_ns);
            let first = life.partition_point(|it| it.to_ns <= from_ns);
            let Some(nearest) = life.get(first).or(life.last()) else { continue };
            let endpoint = profile.samples.get(nearest.row).and_then(|it| it.label(ENDPOINT));
            let (runs, at) = endpoints.entry(endpoint).or_default().entry(name).or_default();
            runs.add(marker, is_cached);
            for event in life.iter().skip(first).take_while(|it| it.from_ns < to_ns) {
                let overlap_ns = event.to_ns.min(to_ns).saturating_sub(event.from_ns.max(from_ns));
                let stack = profile.samples.get(event.row).map(|it| it.stack);
                let site = stack.and_then(|it| sites.app(it)).filter(|_| overlap_ns > 0);
                site.into_iter().for_each(|it| at.add(it, None, overlap_ns));
            }
        }
        let often = endpoints.iter().filter_map(|(endpoint, statements)| {
            Self::often(profile, *endpoint, statements.iter().map(|(name, (runs, _))| (*name, *runs)))
        });
        let most = |it: &Self| it.statements.iter().fold(0_u64, |sum, (_, it)| sum.saturating_add(it.times));
        let sent = often.max_by_key(most)?;
        let (name, _) = sent.statements.first()?;
        let place = endpoints.get(&sent.endpoint).and_then(|it| it.get(name)).and_then(|(_, at)| at.place());
        Some(Self { place, ..sent })
    }
}

/// Returns how many of `times` belong to each request. Requests that began before the profile sent only some of theirs in it.
fn a_request(times: u64, requests: u64) -> u64 {
    times.saturating_add(requests / 2) / requests.max(1)
}

/// A time of a thread, and the row that it belongs to.
struct Event {
    from_ns: u64,
    to_ns: u64,
    row: usize,
}

/// Returns the events of each thread, in chronological order.
fn lives(profile: &Profile) -> Vec<Vec<Event>> {
    let mut lives: Vec<Vec<Event>> = profile.threads.iter().map(|_| Vec::new()).collect();
    for event in profile.timeline.iter().flat_map(Timeline::iter) {
        let row = event.row.index();
        let time = [SampleType::Wall, SampleType::Cpu].into_iter().map(|of| event.weights.get(of));
        let Some(length_ns) = time.into_iter().find(|it| *it > 0) else { continue };
        let life = profile.samples.get(row).and_then(|it| lives.get_mut(it.thread));
        let from_ns = event.time_ns.saturating_sub(length_ns);
        life.into_iter().for_each(|it| it.push(Event { from_ns, to_ns: event.time_ns, row }));
    }
    lives
}

pub(super) fn find(profile: &Profile, sites: &Sites<'_>) -> Option<Finding> {
    let has_times = profile.timeline.as_ref().is_some_and(|it| !it.is_empty());
    let sent = if has_times { Sent::by_time(profile, sites) } else { Sent::by_senders(profile, sites) }?;
    let Sent { endpoint, requests, mut statements, place } = sent;
    let (first, _) = *statements.first()?;
    statements.truncate(MAX_STATEMENTS);

    let times = |it: &Runs| format!("{} times", count(a_request(it.times, requests)));
    let each: Vec<String> = statements
        .iter()
        .enumerate()
        .map(|(place, (name, it))| match place {
            0 => format!("{} queried {}", table(name), times(it)),
            _ => format!("{} {}", table(name), times(it)),
        })
        .collect();
    let request = if requests > 1 { " a request" } else { "" };
    let under = match endpoint {
        Some(endpoint) => format!(" under {endpoint}"),
        None => place.map(|it| format!(" from {}", sites.title(it))).unwrap_or_default(),
    };
    let sum = |of: fn(&Runs) -> u64| statements.iter().fold(0_u64, |sum, (_, it)| sum.saturating_add(of(it)));
    let cached = match a_request(sum(|it| it.cached), requests) {
        0 => String::new(),
        cached => format!(" ({} from the query cache)", count(cached)),
    };
    let spent = duration(sum(|it| it.spent_ns));
    Some(Finding {
        kind: FindingKind::Queries,
        text: format!("{}{request}{cached}{under}, {spent}: {}", each.join(", "), statement(first)),
        weight: sum(|it| it.times),
        of: SampleType::Samples,
        share: None,
        place,
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
    queries(profile).for_each(|(marker, name, is_cached)| {
        statements.entry(name).or_default().add(marker, is_cached);
    });
    statements
}

/// Returns the markers of statements, each with its statement, and whether the query cache answered.
fn queries(profile: &Profile) -> impl Iterator<Item = (&Marker, &str, bool)> {
    profile.markers.iter().filter_map(|marker| {
        let is_cached = marker.name.starts_with(CACHED);
        let kind = if is_cached { CACHED } else { MARKER };
        let rest = marker.name.strip_prefix(kind).filter(|rest| rest.starts_with([' ', ':']))?;
        Some((marker, rest.trim_start_matches([' ', ':']), is_cached))
    })
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
