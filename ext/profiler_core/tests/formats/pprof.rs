//! The native file comes back as it was written.

use profiler_core::error::Error;
use profiler_core::format::{pprof::write, read};
use profiler_core::profile::{Function, LabelSet, Meta, Note, Profile, Requests, SampleType, Stats, Thread};
use profiler_core::record::counters::Counts;
use profiler_core::record::State;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use crate::build::{build, Row};
use crate::example::example;

pub(crate) fn packed(profile: &Profile) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(profile, &mut bytes).unwrap();
    bytes
}

/// Names as programs have them, and names as nobody should.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        select(vec![
            "",
            "Foo#bar",
            "<main>",
            "a;b",
            "a\nb",
            "x 12",
            "# x",
            "\"'&<>]]>",
            "状態",
            "state",
            "_"
        ])
        .prop_map(String::from),
        "[a-c#;\\\\ \u{1}\u{a0}ß\u{ffff}]{0,6}",
        any::<String>(),
    ]
}

fn function() -> impl Strategy<Value = Function> {
    (name(), name(), name(), name(), any::<u32>()).prop_map(
        |(name, class_name, method_name, path, first_line)| Function {
            name,
            class_name,
            method_name,
            path,
            first_line,
        },
    )
}

fn rows(types: Vec<SampleType>, threads: usize) -> impl Strategy<Value = Vec<Row>> {
    let frames = vec(function(), 1..6).prop_flat_map(|functions| {
        let frame = (select(functions), 0..4_u32);
        vec(vec(frame, 1..8), 0..12)
    });
    let weights = vec(prop_oneof![Just(0), 1..9_u64, 0..1_u64 << 40], types.len());
    let row = (0..threads, select(State::ALL.to_vec()), btree_map(name(), name(), 0..3), weights);
    let row = (row, any::<prop::sample::Index>());
    (frames, vec(row, 0..12)).prop_map(move |(stacks, rows)| {
        let full = |((thread, state, labels, weights), stack): (_, prop::sample::Index)| Row {
            frames: stacks[stack.index(stacks.len())].clone(),
            thread,
            state,
            labels: std::collections::BTreeMap::into_iter(labels).collect(),
            weights: types.iter().copied().zip::<Vec<u64>>(weights).collect(),
        };
        if stacks.is_empty() {
            Vec::new()
        } else {
            rows.into_iter().map(full).collect()
        }
    })
}

fn meta() -> impl Strategy<Value = Meta> {
    let words = (vec(name(), 0..3), name(), name(), name(), name());
    let numbers = (any::<u64>(), any::<u64>(), any::<u64>(), any::<u32>());
    (words, numbers, btree_map(name(), name(), 0..3), vec(name(), 0..3)).prop_map(
        |((modes, engine, ruby, program, version), (interval, started, took, pid), user, notes)| Meta {
            modes,
            engine: engine.into(),
            interval_ns: interval,
            every: interval / 3,
            every_bytes: interval / 7,
            started_at_ns: started,
            duration_ns: took,
            ruby: ruby.into(),
            program,
            pid,
            profiler_version: version.into(),
            user,
            notes: notes.into_iter().map(Note::Text).collect(),
            merged: None,
        },
    )
}

fn requests() -> impl Strategy<Value = Requests> {
    vec((btree_map(name(), name(), 0..3), any::<u64>()), 0..5).prop_map(|ended| {
        let mut requests = Requests::default();
        for (labels, took_ns) in ended {
            let labels = labels.into_iter().map(|(name, value)| (name, Some(value)));
            requests.record(&LabelSet::EMPTY.with(labels), took_ns);
        }
        requests
    })
}

/// A profile, and what it should be once it was written and read.
pub(crate) fn profiles() -> impl Strategy<Value = (Profile, Profile)> {
    let thread = (any::<u64>(), name()).prop_map(|(native_id, name)| Thread { native_id, name });
    let head = (meta(), requests());
    let parts = (subsequence(SampleType::ALL.to_vec(), 1..6), vec(thread, 1..4), head, any::<[u64; 3]>());
    parts.prop_flat_map(|(types, threads, (meta, requests), [captured, dropped_full, names_ns])| {
        rows(types.clone(), threads.len()).prop_map(move |rows| {
            let counts = Counts { captured, dropped_full, ..Counts::default() };
            let stats = Stats { counts, names_ns, ..Stats::default() };
            let kept: Vec<Row> = rows.iter().filter(|it| it.weighs()).cloned().collect();
            let [written, expected] = [&rows, &kept].map(|rows| Profile {
                meta: meta.clone(),
                requests: requests.clone(),
                stats,
                ..build(&types, &threads, rows)
            });
            (written, expected)
        })
    })
}

proptest! {
    #![proptest_config(crate::config())]

    #[test]
    fn written_profiles_round_trip((written, expected) in profiles()) {
        let bytes = packed(&written);
        let back = read(&bytes).unwrap();
        prop_assert_eq!(&back, &expected);
        prop_assert_eq!(packed(&back), packed(&expected));
    }
}

#[test]
fn the_example_round_trips_without_its_empty_row() {
    let mut expected = example();
    expected.samples.retain(|it| it.weights != Default::default());
    expected.stacks.pop();
    assert_eq!(read(&packed(&example())).unwrap(), expected);
    assert_eq!(read(&crate::wire::unpack(&packed(&example()))).unwrap(), expected, "unpacked");
}

#[test]
fn oversized_numbers_saturate() {
    let mut profile = example();
    profile.samples.truncate(1);
    profile.samples[0].weights.set(SampleType::Cpu, u64::MAX);
    let back = read(&packed(&profile)).unwrap();
    assert_eq!(back.samples[0].weights.get(SampleType::Cpu), i64::MAX as u64);
    assert!(matches!(read(b""), Err(Error::NotAProfile)));
}
