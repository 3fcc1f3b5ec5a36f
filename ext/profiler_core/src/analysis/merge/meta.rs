//! The header of a merge. Values that all profiles share stay; values that differ become a note that lists them.
//!
//! A merge can be merged any number of times, such as a day's file to which each hour is added. So the notes
//! written here are also read here. Lists grow instead of standing beside each other, and a value that its field
//! cannot hold (two pids) is kept. (A value with a `; ` in it comes back in pieces; no text is lost.)

use std::collections::{BTreeMap, BTreeSet};

use crate::profile::{Meta, Profile, SampleType};
use crate::text::units::round_duration;

const PROCESSES: &str = "processes";
const PROGRAMS: &str = "programs";
const RUBIES: &str = "Rubies";
const VERSIONS: &str = "versions of the profiler";
const INTERVALS: &str = "intervals";
const MEASURED_IN_PART: &str = "measured in some of the profiles only";
const METADATA: &str = "metadata that differed and was left out";
const LISTS: [&str; 7] = [PROCESSES, PROGRAMS, RUBIES, VERSIONS, INTERVALS, MEASURED_IN_PART, METADATA];

const GAPS: &str = "there is time between start and end that no profile covers";

pub(super) fn meta(profiles: &[&Profile]) -> Meta {
    let metas: Vec<&Meta> = profiles.iter().map(|it| &it.meta).collect();
    let all = |noun, of: fn(&Meta) -> String| {
        let said = metas.iter().map(|it| of(it)).filter(|it| !it.is_empty());
        said.chain(noted(&metas, noun)).collect::<BTreeSet<String>>()
    };
    let pids = all(PROCESSES, |it| if it.pid == 0 { String::new() } else { it.pid.to_string() });
    let programs = all(PROGRAMS, |it| it.program.clone());
    let rubies = all(RUBIES, |it| it.ruby.to_string());
    let versions = all(VERSIONS, |it| it.profiler_version.to_string());
    // The coarsest is what can be said of the whole. It is not always what the finer ones came to.
    let intervals =
        all(INTERVALS, |it| if it.interval_ns == 0 { String::new() } else { round_duration(it.interval_ns) });
    let (user, left_out) = common_metadata(&metas);

    let mut notes = vec![format!("{MERGED}{} profiles", merged(&metas))];
    let several = [
        (PROCESSES, &pids),
        (PROGRAMS, &programs),
        (RUBIES, &rubies),
        (VERSIONS, &versions),
        (INTERVALS, &intervals),
    ];
    for (noun, values) in several.into_iter().filter(|(_, values)| values.len() > 1) {
        notes.push(format!("{} {}", values.len(), list(noun, values)));
    }
    let partly = noted(&metas, MEASURED_IN_PART).chain(measured_in_part(profiles)).collect();
    let left_out = noted(&metas, METADATA).chain(left_out).collect();
    for (noun, values) in [(MEASURED_IN_PART, partly), (METADATA, left_out)] {
        let values: BTreeSet<String> = values;
        if !values.is_empty() {
            notes.push(list(noun, &values));
        }
    }
    let (started_at_ns, duration_ns, gaps) = span(&metas);
    if gaps {
        notes.push(GAPS.into());
    }
    for note in metas.iter().flat_map(|it| &it.notes).filter(|it| !is_ours(it)) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }

    Meta {
        modes: union(metas.iter().flat_map(|it| it.modes.iter().map(String::as_str))),
        engine: union(metas.iter().flat_map(|it| it.engine.split('+')).filter(|it| !it.is_empty()))
            .join("+")
            .into(),
        every: metas.iter().map(|it| it.every).max().unwrap_or(0),
        every_bytes: metas.iter().map(|it| it.every_bytes).max().unwrap_or(0),
        interval_ns: metas.iter().map(|it| it.interval_ns).max().unwrap_or(0),
        started_at_ns,
        duration_ns,
        ruby: only(&rubies).into(),
        program: only(&programs),
        pid: only(&pids).parse().unwrap_or(0),
        profiler_version: only(&versions).into(),
        user,
        notes,
    }
}

const MERGED: &str = "merged from ";

/// The number of profiles that these were merged from.
fn merged(metas: &[&Meta]) -> u64 {
    let of_one = |meta: &Meta| meta.notes.iter().find_map(|it| merged_from(it)).unwrap_or(1);
    metas.iter().fold(0, |sum, it| sum.saturating_add(of_one(it)))
}

fn merged_from(note: &str) -> Option<u64> {
    note.strip_prefix(MERGED)?.strip_suffix(" profiles")?.parse().ok()
}

fn list(noun: &str, values: &BTreeSet<String>) -> String {
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    format!("{noun}: {}", values.join("; "))
}

/// The values that a note of [`list`] has, with a number before it or not.
fn listed<'note>(note: &'note str, noun: &str) -> Option<impl Iterator<Item = String> + 'note> {
    let (head, values) = note.split_once(": ")?;
    let head = head.trim_start_matches(|it: char| it.is_ascii_digit() || it == ' ');
    (head == noun).then(|| values.split("; ").map(String::from))
}

fn noted<'metas>(metas: &'metas [&Meta], noun: &'metas str) -> impl Iterator<Item = String> + 'metas {
    metas.iter().flat_map(|it| &it.notes).filter_map(move |note| listed(note, noun)).flatten()
}

fn is_ours(note: &str) -> bool {
    merged_from(note).is_some() || LISTS.iter().any(|noun| listed(note, noun).is_some())
}

/// The one value, where there is one.
fn only(values: &BTreeSet<String>) -> String {
    match values.first() {
        Some(one) if values.len() == 1 => one.clone(),
        _ => String::new(),
    }
}

fn union<'text>(words: impl Iterator<Item = &'text str>) -> Vec<String> {
    words.collect::<BTreeSet<&str>>().into_iter().map(String::from).collect()
}

fn measured_in_part<'profiles>(profiles: &'profiles [&Profile]) -> impl Iterator<Item = String> + 'profiles {
    let has = |of: SampleType| profiles.iter().filter(move |it| it.sample_types.contains(&of)).count();
    let some = move |number: usize| (1..profiles.len()).contains(&number);
    let types = SampleType::ALL.into_iter().filter(move |it| some(has(*it)));
    let timed = profiles.iter().filter(|it| it.timeline.is_some()).count();
    types.map(|it| it.name_and_unit().0.into()).chain(some(timed).then(|| "timeline".into()))
}

/// The metadata that all profiles agree on, and the names of the rest.
fn common_metadata(metas: &[&Meta]) -> (BTreeMap<String, String>, Vec<String>) {
    let everywhere = |name: &String, value: &String| metas.iter().all(|it| it.user.get(name) == Some(value));
    let mut common = BTreeMap::new();
    let mut rest = Vec::new();
    for (name, value) in metas.iter().flat_map(|it| &it.user) {
        if everywhere(name, value) {
            common.insert(name.clone(), value.clone());
        } else {
            rest.push(name.clone());
        }
    }
    (common, rest)
}

/// The earliest start, the length from there to the latest end, and whether there are gaps between.
fn span(metas: &[&Meta]) -> (u64, u64, bool) {
    let mut spans: Vec<(u64, u64)> =
        metas.iter().map(|it| (it.started_at_ns, it.started_at_ns.saturating_add(it.duration_ns))).collect();
    spans.sort_unstable();
    let first = spans.first().map_or(0, |(start, _)| *start);
    let (mut reached, mut gaps) = (first, false);
    for (start, end) in spans {
        gaps |= start > reached;
        reached = reached.max(end);
    }
    (first, reached.saturating_sub(first), gaps)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn profile(change: impl FnOnce(&mut Meta)) -> Profile {
        let mut meta = Meta {
            modes: vec!["cpu".into()],
            engine: "thread_timer".into(),
            interval_ns: 1_000_000,
            started_at_ns: 100,
            duration_ns: 10,
            ruby: "ruby 3.3.8".into(),
            program: "shop".into(),
            pid: 4711,
            profiler_version: "0.1.0".into(),
            ..Meta::default()
        };
        change(&mut meta);
        Profile { meta, ..Profile::default() }
    }

    fn notes(profiles: &[&Profile]) -> Vec<String> {
        meta(profiles).notes
    }

    #[test]
    fn what_all_say_stays() {
        let one = profile(|it| it.user = [("deploy".to_owned(), "7".to_owned())].into());
        let both = meta(&[&one, &one]);
        assert_eq!(both, Meta { notes: vec!["merged from 2 profiles".into()], ..one.meta });
    }

    #[test]
    fn what_differs_is_listed() {
        let one = profile(|it| it.user = [("deploy".to_owned(), "7".to_owned())].into());
        let other = profile(|it| {
            (it.pid, it.program, it.ruby) = (4712, "job".into(), "ruby 3.4.1".into());
            (it.engine, it.interval_ns) = ("safepoint".into(), 250_000);
            it.modes = vec!["wall".into()];
            it.notes = vec!["Threads of other Ractors are not in it.".into()];
        });
        let both = meta(&[&one, &other]);
        assert_eq!((both.pid, &*both.program, &*both.ruby), (0, "", ""));
        assert_eq!((&*both.engine, both.interval_ns), ("safepoint+thread_timer", 1_000_000));
        assert_eq!((both.modes, both.user), (vec!["cpu".into(), "wall".into()], BTreeMap::new()));
        let expected = [
            "merged from 2 profiles",
            "2 processes: 4711; 4712",
            "2 programs: job; shop",
            "2 Rubies: ruby 3.3.8; ruby 3.4.1",
            "2 intervals: 1 ms; 250 us",
            "metadata that differed and was left out: deploy",
            "Threads of other Ractors are not in it.",
        ];
        assert_eq!(both.notes, expected);
    }

    #[test]
    fn a_merge_that_is_merged_again_says_what_one_merge_would() {
        let parts: Vec<Profile> = (1..=4).map(|pid| profile(|it| it.pid = pid / 2 + 1)).collect();
        let [a, b, c, d] = parts.iter().collect::<Vec<_>>()[..] else { panic!("four") };
        let merge = |profiles: &[&Profile]| Profile { meta: meta(profiles), ..Profile::default() };
        let expected = ["merged from 4 profiles", "3 processes: 1; 2; 3"];
        assert_eq!(notes(&[a, b, c, d]), expected);
        assert_eq!(notes(&[&merge(&[a, b]), &merge(&[c, d])]), expected);
        assert_eq!(notes(&[a, &merge(&[&merge(&[d, b]), c])]), expected);
    }

    #[test]
    fn the_time_is_from_the_first_start_to_the_last_end() {
        let early = profile(|it| (it.started_at_ns, it.duration_ns) = (50, 100));
        let inside = profile(|_| ());
        let late = profile(|it| it.started_at_ns = 151);
        let both = meta(&[&inside, &early]);
        assert_eq!((both.started_at_ns, both.duration_ns, both.notes.len()), (50, 100, 1));
        let with_gap = meta(&[&late, &early]);
        assert_eq!((with_gap.started_at_ns, with_gap.duration_ns), (50, 111));
        assert_eq!(with_gap.notes, ["merged from 2 profiles", GAPS]);
    }

    #[test]
    fn what_not_all_have_measured_is_named() {
        let mut one = profile(|_| ());
        one.sample_types = vec![SampleType::Samples, SampleType::Cpu];
        let mut other = profile(|_| ());
        other.sample_types = vec![SampleType::Samples, SampleType::Wall];
        let expected = ["merged from 2 profiles", "measured in some of the profiles only: cpu; wall"];
        assert_eq!(notes(&[&one, &other]), expected);
    }
}
