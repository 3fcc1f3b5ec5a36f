//! The header of a merge. Values that all profiles share stay; values that differ are listed in [`Merged`].
//!
//! A merge can be merged any number of times, such as a day's file to which each hour is added: the lists
//! grow.

use std::collections::{BTreeMap, BTreeSet};

use crate::profile::{Merged, Meta, Note, Profile, SampleType};
use crate::text::units::round_duration;

pub(super) fn meta(profiles: &[&Profile]) -> Meta {
    let metas: Vec<&Meta> = profiles.iter().map(|it| &it.meta).collect();
    let (user, left_out) = common_metadata(&metas);
    let (started_at_ns, duration_ns, gaps) = span(&metas);
    let mut merged = Merged {
        partly: measured_in_part(profiles).collect(),
        metadata: left_out.into_iter().collect(),
        gaps,
        ..Merged::default()
    };
    metas.iter().for_each(|it| merged.add(&origins(it)));
    let mut notes = Vec::new();
    metas.iter().for_each(|it| Note::merge(&mut notes, &it.notes));
    Meta {
        modes: union(metas.iter().flat_map(|it| it.modes.iter().map(String::as_str))),
        engine: union(metas.iter().flat_map(|it| it.engine.split('+')).filter(|it| !it.is_empty()))
            .join("+")
            .into(),
        every: metas.iter().map(|it| it.every).max().unwrap_or(0),
        every_bytes: metas.iter().map(|it| it.every_bytes).max().unwrap_or(0),
        // The coarsest interval is what can be said of the whole. It is not always what the finer ones came
        // to.
        interval_ns: metas.iter().map(|it| it.interval_ns).max().unwrap_or(0),
        started_at_ns,
        duration_ns,
        ruby: only(&merged.rubies).into(),
        program: only(&merged.programs),
        pid: only(&merged.processes).parse().unwrap_or(0),
        profiler_version: only(&merged.versions).into(),
        user,
        notes,
        merged: Some(merged),
    }
}

/// Returns the origins of a profile, which may be a merge itself.
fn origins(meta: &Meta) -> Merged {
    if let Some(merged) = &meta.merged {
        return merged.clone();
    }
    let one = |value: String| Some(value).filter(|it| !it.is_empty()).into_iter().collect();
    Merged {
        profiles: 1,
        processes: one(if meta.pid == 0 { String::new() } else { meta.pid.to_string() }),
        programs: one(meta.program.clone()),
        rubies: one(meta.ruby.to_string()),
        versions: one(meta.profiler_version.to_string()),
        intervals: one(if meta.interval_ns == 0 { String::new() } else { round_duration(meta.interval_ns) }),
        ..Merged::default()
    }
}

/// Returns the value if there is exactly one.
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

/// Returns the metadata that all profiles agree on, and the names of the rest.
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

/// Returns the earliest start, the length from there to the latest end, and whether there are gaps in
/// between.
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
        meta(profiles).sentences()
    }

    #[test]
    fn equal_metadata_is_kept() {
        let one = profile(|it| it.user = [("deploy".to_owned(), "7".to_owned())].into());
        let both = meta(&[&one, &one]);
        assert_eq!(both.sentences(), ["merged from 2 profiles"]);
        assert_eq!(Meta { merged: None, ..both }, one.meta);
    }

    #[test]
    fn differing_metadata_is_listed() {
        let one = profile(|it| it.user = [("deploy".to_owned(), "7".to_owned())].into());
        let other = profile(|it| {
            (it.pid, it.program, it.ruby) = (4712, "job".into(), "ruby 3.4.1".into());
            (it.engine, it.interval_ns) = ("safepoint".into(), 250_000);
            it.modes = vec!["wall".into()];
            it.notes = vec![Note::Text("Threads of other Ractors are not in it.".into())];
        });
        let both = meta(&[&one, &other]);
        assert_eq!((both.pid, &*both.program, &*both.ruby), (0, "", ""));
        assert_eq!((&*both.engine, both.interval_ns), ("safepoint+thread_timer", 1_000_000));
        assert_eq!((&both.modes, &both.user), (&vec!["cpu".into(), "wall".into()], &BTreeMap::new()));
        let expected = [
            "merged from 2 profiles",
            "2 processes: 4711; 4712",
            "2 programs: job; shop",
            "2 Rubies: ruby 3.3.8; ruby 3.4.1",
            "2 intervals: 1 ms; 250 us",
            "metadata that differed and was left out: deploy",
            "Threads of other Ractors are not in it.",
        ];
        assert_eq!(both.sentences(), expected);
    }

    #[test]
    fn nested_merges_equal_one_merge() {
        let parts: Vec<Profile> = (1..=4).map(|pid| profile(|it| it.pid = pid / 2 + 1)).collect();
        let [a, b, c, d] = parts.iter().collect::<Vec<_>>()[..] else { panic!("four") };
        let merge = |profiles: &[&Profile]| Profile { meta: meta(profiles), ..Profile::default() };
        let expected = ["merged from 4 profiles", "3 processes: 1; 2; 3"];
        assert_eq!(notes(&[a, b, c, d]), expected);
        assert_eq!(notes(&[&merge(&[a, b]), &merge(&[c, d])]), expected);
        assert_eq!(notes(&[a, &merge(&[&merge(&[d, b]), c])]), expected);
    }

    #[test]
    fn spans_from_first_start_to_last_end() {
        let early = profile(|it| (it.started_at_ns, it.duration_ns) = (50, 100));
        let inside = profile(|_| ());
        let late = profile(|it| it.started_at_ns = 151);
        let both = meta(&[&inside, &early]);
        assert_eq!((both.started_at_ns, both.duration_ns, both.sentences().len()), (50, 100, 1));
        let with_gap = meta(&[&late, &early]);
        assert_eq!((with_gap.started_at_ns, with_gap.duration_ns), (50, 111));
        let gap = "there is time between start and end that no profile covers";
        assert_eq!(with_gap.sentences(), ["merged from 2 profiles", gap]);
    }

    #[test]
    fn partially_measured_types_are_noted() {
        let mut one = profile(|_| ());
        one.sample_types = vec![SampleType::Samples, SampleType::Cpu];
        let mut other = profile(|_| ());
        other.sample_types = vec![SampleType::Samples, SampleType::Wall];
        let expected = ["merged from 2 profiles", "measured in some of the profiles only: cpu; wall"];
        assert_eq!(notes(&[&one, &other]), expected);
    }
}
