//! Files of rperf.

use std::collections::BTreeMap;

use profiler_core::format::{read, Format, Options};
use profiler_core::profile::SampleType;
use profiler_core::record::State;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{json, Value};

use crate::golden::written;
use crate::hostile::gzip;
use crate::readers::{refusal, row, rows};

/// As rperf 0.9 writes it: a thread with labels that works, waits and collects garbage, and another one.
pub(crate) const SHOP: &str = include_str!("../../../../spec/fixtures/shop.rperf.json");

fn changed(change: impl FnOnce(&mut Value)) -> String {
    let mut file: Value = serde_json::from_str(SHOP).unwrap();
    change(&mut file);
    file.to_string()
}

#[test]
fn its_report_says_nothing_of_what_the_file_does_not_tell() {
    let profile = read(SHOP.as_bytes()).unwrap();
    let report = written(Format::Text, &profile, &Options::default());
    assert!(report.contains("sleeping in <main>"), "{report}");
    assert!(!report.contains("few samples") && !report.contains("overhead"), "{report}");
}

#[test]
fn states_and_labels() {
    let profile = read(SHOP.as_bytes()).unwrap();
    assert_eq!(profile, read(&gzip(SHOP.as_bytes())).unwrap());
    assert_eq!(profile.sample_types, [SampleType::Wall, SampleType::GvlWait, SampleType::Gc]);
    let sort = "<main>;Array#each;Shop#sort";
    let expected = [
        row(sort, "thread 1", 5_000_123),
        row(sort, "thread 1", 2_000_000),
        row(sort, "thread 1", 700_000),
        row(sort, "thread 1", 300_000),
        row("<main>;Kernel#sleep", "thread 1", 9_000_000),
        row("<main>;Kernel#sleep", "thread 1", 40_000),
        row("Shop#sort", "thread 2", 1_000_000),
    ];
    assert_eq!(rows(&profile, SampleType::Wall), expected);
    let labels: Vec<String> = profile
        .samples
        .iter()
        .map(|it| it.labels.iter().map(|(name, value)| format!("{name}={value} ")).collect())
        .collect();
    let both = "attempt=2 request=abc ";
    assert_eq!(labels, ["", both, &format!("%GC=mark {both}"), "%GC=sweep ", "", "", ""]);
    let states: Vec<State> = profile.samples.iter().map(|it| it.state).collect();
    use State::{Gc, Gvl, Running, Waiting};
    assert_eq!(states, [Running, Running, Gc, Gc, Waiting, Gvl, Running]);
    let total = profile.total();
    assert_eq!((total.get(SampleType::GvlWait), total.get(SampleType::Gc)), (40_000, 1_000_000));
    let sleep = profile.functions.iter().find(|it| it.name == "Kernel#sleep").unwrap();
    assert_eq!((sleep.path.as_str(), sleep.method_name.as_str()), ("<cfunc>", "sleep"));
    let meta = &profile.meta;
    assert_eq!((meta.interval_ns, meta.started_at_ns), (1_000_000, 1_764_230_000_000_000_500));
    assert_eq!(
        (meta.duration_ns, meta.pid, meta.modes.as_slice()),
        (24_000_000, 4711, &["wall".to_owned()][..])
    );
    let expected =
        ["read from rperf's JSON, which has no lines and no names of threads", "rperf dropped 2 samples"];
    assert_eq!(meta.sentences(), expected);
}

#[test]
fn cpu_time_and_several_processes() {
    let cpu = changed(|file| {
        file["mode"] = "cpu".into();
        file["process_count"] = 3.into();
    });
    let profile = read(cpu.as_bytes()).unwrap();
    assert_eq!(profile.sample_types, [SampleType::Cpu]);
    assert_eq!(profile.total().get(SampleType::Cpu), 18_040_123);
    assert_eq!(
        profile.meta.sentences()[1..3],
        [
            "rperf measures garbage collection in wall clock time; it is counted as cpu here, as in the file",
            "several processes use the same thread numbers: a thread shown here is the sum of the threads with that number (--by %pid separates the processes)",
        ]
    );
}

/// Samples that are not summed up have the state as a number. A file may have both kinds, of the same samples.
#[test]
fn samples_that_are_not_summed_up() {
    let raw = json!([[[["a.rb", "a"]], 3, 1, 0, 4], [[[null, ""]], 4, 0, null, 1], [[["a.rb", "a"]], 5]]);
    let both = changed(|file| file["raw_samples"] = raw.clone());
    assert_eq!(read(both.as_bytes()).unwrap(), read(SHOP.as_bytes()).unwrap());
    let alone = changed(|file| {
        file["raw_samples"] = raw;
        file.as_object_mut().unwrap().remove("aggregated_samples");
    });
    let profile = read(alone.as_bytes()).unwrap();
    assert_eq!(
        rows(&profile, SampleType::Wall),
        [row("a", "thread 1", 3), row("(unknown)", "", 4), row("a", "", 5)]
    );
    let states: Vec<State> = profile.samples.iter().map(|it| it.state).collect();
    assert_eq!(states, [State::Gc, State::Waiting, State::Running]);
    assert_eq!(profile.samples[0].labels, [("%GC".to_owned(), "sweep".to_owned())]);
}

#[test]
fn damage_is_named() {
    let sample = |it: Value| refusal(&changed(|file| file["aggregated_samples"] = json!([it])));
    let a = json!([["a.rb", "a"]]);
    assert_eq!(sample(json!([a, -1, 1, 0])), "a damaged profile: a sample has a negative weight");
    assert_eq!(
        sample(json!([a, 1, 1, 6])),
        "a damaged profile: it refers to set 6 of labels, but has only 6"
    );
    for bad in
        [json!([]), json!([a]), json!([a, 1.5]), json!([[["a.rb"]], 1]), json!([[[1, 2]], 1]), json!(1)]
    {
        let error = sample(bad);
        assert!(error.starts_with("a damaged profile: its JSON: invalid "), "{error}");
    }
    let much = json!([[a, i64::MAX], [a, 1]]);
    let error = refusal(&changed(|file| file["aggregated_samples"] = much));
    assert_eq!(error, "a damaged profile: the sum of its weights is too large");
    let error = refusal(&changed(|file| file["mode"] = "object".into()));
    assert_eq!(error, "a damaged profile: the mode \"object\" (allowed: cpu, wall)");
    assert!(refusal(&SHOP[..SHOP.len() - 9]).starts_with("a profile that was cut short"));
}

/// The sums by function, by thread and by state.
type Sums = (BTreeMap<String, u64>, BTreeMap<u64, u64>, BTreeMap<State, u64>);

proptest! {
    #![proptest_config(crate::config())]

    #[test]
    fn sums_are_those_of_the_file(
        samples in vec((vec(0..5_u8, 1..8), 1..1_u64 << 40, 0..4_u32, 0..4_u32), 0..30),
    ) {
        let sets = json!([{}, { "request": "a" }, { "%GVL": "wait" }, { "%GC": "mark", "request": "a" }]);
        let frames = |it: &[u8]| it.iter().map(|it| json!(["a.rb", format!("f{it}")])).collect::<Vec<_>>();
        let written: Vec<Value> =
            samples.iter().map(|(stack, weight, thread, set)| json!([frames(stack), weight, thread, set])).collect();
        let file = json!({ "mode": "wall", "aggregated_samples": written, "label_sets": sets });
        let profile = read(file.to_string().as_bytes()).unwrap();
        let (mut selves, mut threads, mut states): Sums = Default::default();
        for (stack, weight, thread, set) in &samples {
            *selves.entry(format!("f{}", stack[0])).or_default() += *weight;
            *threads.entry(u64::from(*thread)).or_default() += *weight;
            *states.entry([State::Running, State::Running, State::Gvl, State::Gc][*set as usize]).or_default() += *weight;
        }
        let (mut own, mut by_thread, mut by_state): Sums = Default::default();
        for sample in &profile.samples {
            let leaf = profile.frames_of(sample.stack).next().unwrap();
            let weight = sample.weights.get(SampleType::Wall);
            *own.entry(profile.function(leaf.function).unwrap().name.clone()).or_default() += weight;
            *by_thread.entry(profile.threads[sample.thread].native_id).or_default() += weight;
            *by_state.entry(sample.state).or_default() += weight;
        }
        prop_assert_eq!((own, by_thread, by_state), (selves, threads, states));
    }
}
