//! Tests that merging is adding: nothing is lost, nothing is made up, and the order does not matter.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "formats/build.rs"]
#[allow(dead_code)] // it is the tests' of the formats
mod build;

use std::collections::BTreeMap;

use profiler_core::analysis::merge::merge;
use profiler_core::analysis::top::{top, Order};
use profiler_core::format::pprof;
use profiler_core::profile::{
    Frame, Function, LabelSet, Meta, Profile, Requests, SampleType, Stats, Thread, Weights,
};
use profiler_core::record::counters::Counts;
use profiler_core::record::State;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use build::{build, Row};

/// Few of everything, so that profiles have much in common. Namesakes differ in one field.
fn function() -> impl Strategy<Value = Function> {
    (select(vec!["a", "b"]), select(vec!["", "A"]), select(vec!["", "/x.rb"]), 0..2_u32).prop_map(
        |(name, class_name, path, first_line)| Function {
            name: name.into(),
            class_name: class_name.into(),
            method_name: name.into(),
            path: path.into(),
            first_line,
        },
    )
}

fn row(types: Vec<SampleType>, threads: usize) -> impl Strategy<Value = Row> {
    let label = (select(vec!["endpoint", "job"]), select(vec!["x", "y"]));
    let label = label.prop_map(|(name, value)| (name.to_owned(), value.to_owned()));
    let weights = vec(prop_oneof![Just(0), 0..9_u64, 0..1_u64 << 40], types.len());
    let frames = vec((function(), 0..3_u32), 1..6);
    (frames, 0..threads, select(State::ALL.to_vec()), vec(label, 0..2), weights).prop_map(
        move |(frames, thread, state, labels, weights)| Row {
            frames,
            thread,
            state,
            labels,
            weights: types.iter().copied().zip(weights).collect(),
        },
    )
}

fn requests(ended: &[(&str, u64)]) -> Requests {
    let mut requests = Requests::default();
    for (endpoint, took_ns) in ended {
        let labels = [("endpoint".to_owned(), Some((*endpoint).to_owned()))];
        requests.record(&LabelSet::EMPTY.with(labels), *took_ns);
    }
    requests
}

fn profile() -> impl Strategy<Value = Profile> {
    let thread = (0..3_u64, select(vec!["", "main"]));
    let thread = thread.prop_map(|(native_id, name)| Thread { native_id, name: name.into() });
    let meta = (0..4_u32, select(vec!["", "shop", "job"]), 0..9_u64).prop_map(|(pid, program, at)| Meta {
        pid,
        program: program.into(),
        started_at_ns: at,
        duration_ns: 2,
        ..Meta::default()
    });
    let ended = vec((select(vec!["x", "y"]), 0..1_u64 << 40), 0..4);
    let head = (meta, ended.prop_map(|it| requests(&it)));
    let parts = (subsequence(SampleType::ALL.to_vec(), 1..4), vec(thread, 1..4), head, any::<[u32; 3]>());
    parts.prop_flat_map(|(types, threads, (meta, requests), stats)| {
        vec(row(types.clone(), threads.len()), 0..9).prop_map(move |rows| {
            let [captured, late, handler_ns] = stats.map(u64::from);
            let counts = Counts { captured, late, ..Counts::default() };
            let stats = Stats { counts, handler_ns, ..Stats::default() };
            let (meta, requests) = (meta.clone(), requests.clone());
            Profile { meta, requests, stats, ..build(&types, &threads, &rows) }
        })
    })
}

type RowKey = (Vec<(Function, u32)>, Thread, State, Vec<(String, String)>);

/// The weights of each aggregated sample, by a text that has names instead of ids, whatever the order.
fn rows(profiles: &[&Profile]) -> BTreeMap<String, [u64; 9]> {
    let mut rows = BTreeMap::new();
    for (profile, row) in profiles.iter().flat_map(|it| it.samples.iter().map(move |row| (it, row))) {
        let named = |it: Frame| (profile.function(it.function).unwrap().clone(), it.line);
        let frames = profile.frames_of(row.stack).map(named).collect();
        let key: RowKey = (frames, profile.threads[row.thread].clone(), row.state, row.labels.clone());
        let sum: &mut [u64; 9] = rows.entry(format!("{key:?}")).or_default();
        SampleType::ALL.iter().zip(sum).for_each(|(of, sum)| *sum += row.weights.get(*of));
    }
    rows
}

/// Self and total weight of each function.
fn functions(profiles: &[&Profile], of: SampleType) -> BTreeMap<Function, (u64, u64)> {
    let mut sums: BTreeMap<Function, (u64, u64)> = BTreeMap::new();
    for profile in profiles {
        for row in top(profile, of, Order::default()).rows {
            // Tables of a profile that was merged have no function twice, nor have those of `build`.
            let sum = sums.entry(profile.function(row.function).unwrap().clone()).or_default();
            *sum = (sum.0 + row.self_weight, sum.1 + row.total_weight);
        }
    }
    sums
}

fn total(profiles: &[&Profile]) -> Weights {
    let mut total = Weights::default();
    profiles.iter().for_each(|it| total.add(&it.total()));
    total
}

/// All that counts of a merge, without the order of its tables.
fn comparable(it: &Profile) -> (Vec<SampleType>, BTreeMap<String, [u64; 9]>, Requests, Stats, Meta) {
    let mut meta = it.meta.clone();
    meta.notes.sort();
    // Whether there was a gap is not the same question for the whole and for a part.
    meta.merged.iter_mut().for_each(|it| it.gaps = false);
    (it.sample_types.clone(), rows(&[it]), it.requests.clone(), it.stats, meta)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_merge_is_the_sum(profiles in vec(profile(), 2..5)) {
        let profiles: Vec<&Profile> = profiles.iter().collect();
        let merged = merge(&profiles);
        prop_assert_eq!(rows(&[&merged]), rows(&profiles));
        prop_assert_eq!(merged.samples.len(), rows(&profiles).len(), "a row once");
        prop_assert_eq!(merged.total(), total(&profiles));
        for of in SampleType::ALL {
            prop_assert_eq!(functions(&[&merged], of), functions(&profiles, of));
            let measured = profiles.iter().any(|it| it.sample_types.contains(&of));
            prop_assert_eq!(merged.sample_types.contains(&of), measured);
        }
        let captured: u64 = profiles.iter().map(|it| it.stats.counts.captured).sum();
        prop_assert_eq!(merged.stats.counts.captured, captured);
        for (value, all) in merged.requests.by("endpoint") {
            let parts = || profiles.iter().filter_map(|it| it.requests.by("endpoint").get(value).copied());
            prop_assert_eq!(all.count, parts().map(|it| it.count).sum::<u64>());
            prop_assert_eq!(all.total_ns, parts().map(|it| it.total_ns).sum::<u64>());
            prop_assert_eq!(Some(all.largest_ns), parts().map(|it| it.largest_ns).max());
        }
    }

    #[test]
    fn merging_is_commutative_and_associative(a in profile(), b in profile(), c in profile()) {
        let expected = comparable(&merge(&[&a, &b, &c]));
        prop_assert_eq!(&comparable(&merge(&[&c, &a, &b])), &expected);
        let grouped = [merge(&[&merge(&[&a, &b]), &c]), merge(&[&a, &merge(&[&b, &c])])];
        for grouped in grouped {
            prop_assert_eq!(&comparable(&grouped), &expected);
        }
    }

    #[test]
    fn merging_one_profile_changes_nothing(profile in profile()) {
        prop_assert_eq!(merge(&[&profile]), profile);
    }

    #[test]
    fn a_merge_is_written_and_read_like_any_profile(a in profile(), b in profile()) {
        let merged = merge(&[&a, &b]);
        let mut bytes = Vec::new();
        pprof::write(&merged, &mut bytes).unwrap();
        let mut weighing = merged.clone();
        weighing.samples.retain(|it| it.weights != Weights::default());
        prop_assert_eq!(comparable(&profiler_core::format::read(&bytes).unwrap()), comparable(&weighing));
    }
}

#[test]
fn merging_no_profile_gives_an_empty_one() {
    assert_eq!(merge(&[]).samples, []);
}

#[test]
fn equal_stacks_and_threads_are_combined() {
    let main = Function { path: "app.rb".into(), first_line: 1, ..Function::named("<main>") };
    let rows = |cpu| {
        [Row {
            frames: vec![(main.clone(), 3)],
            thread: 0,
            state: State::Running,
            labels: Vec::new(),
            weights: vec![(SampleType::Cpu, cpu)],
        }]
    };
    let thread = |native_id| [Thread { native_id, name: "main".into() }];
    let [a, b, c] = [(1, 5), (2, 5), (4, 6)]
        .map(|(cpu, native_id)| build(&[SampleType::Cpu], &thread(native_id), &rows(cpu)));
    let merged = merge(&[&a, &b, &c]);
    let weights: Vec<u64> = merged.samples.iter().map(|it| it.weights.get(SampleType::Cpu)).collect();
    assert_eq!((merged.functions.len(), merged.stacks.len(), merged.threads.len()), (1, 1, 2));
    assert_eq!(weights, [3, 4]);
}

/// A profile of these sample types, each of which has this weight.
fn measured(types: &[SampleType], weight: u64) -> Profile {
    let function = Function {
        name: "a".into(),
        class_name: String::new(),
        method_name: "a".into(),
        path: "/a.rb".into(),
        first_line: 1,
    };
    let row = Row {
        frames: vec![(function, 1)],
        thread: 0,
        state: State::Running,
        labels: Vec::new(),
        weights: types.iter().map(|of| (*of, weight)).collect(),
    };
    build(types, &[Thread { native_id: 1, name: "main".into() }], &[row])
}

#[test]
fn shows_by_default_what_all_parts_have() {
    use SampleType::{Cpu, Samples, Wall};
    let shown = |parts: &[Profile]| {
        let merged = merge(&parts.iter().collect::<Vec<_>>());
        let mut report = Vec::new();
        profiler_core::format::write(profiler_core::format::Format::Text, &merged, &mut report).unwrap();
        let report = String::from_utf8(report).unwrap();
        let line = report.lines().find(|it| it.contains(" in all")).unwrap().to_owned();
        (merged.default_sample_type(), line)
    };
    let cpu = || measured(&[Samples, Cpu], 1_000_000_000);
    let both = || measured(&[Samples, Cpu, Wall], 15_000_000);
    let parts = [cpu(), cpu(), both(), cpu()];
    assert_eq!(shown(&parts), (Cpu, "cpu: 3.02 s in all".into()));
    let [a, b, c, d] = &parts;
    assert_eq!(shown(&[merge(&[a, c]), merge(&[b, d])]).0, Cpu, "also of merges");
    assert_eq!(shown(&[both(), both()]), (Wall, "wall: 30.0 ms in all".into()));
    let reserved = "wall: 15.0 ms in all, measured in some of the merged profiles only";
    assert_eq!(shown(&[cpu(), measured(&[Samples, Wall], 15_000_000)]), (Wall, reserved.into()));
}
