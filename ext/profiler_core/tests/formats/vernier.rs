//! Files of vernier, and others for the Firefox Profiler.

use std::collections::BTreeMap;

use profiler_core::format::read;
use profiler_core::profile::{Profile, SampleType};
use profiler_core::record::State;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{json, Value};

use crate::hostile::gzip;
use crate::readers::{refusal, row, rows};

/// As vernier 1.11 writes it: a thread that works and sleeps, and two of one name without an id.
pub(crate) const SHOP: &str = include_str!("../../../../spec/fixtures/shop.vernier.json");

fn states(profile: &Profile, of: SampleType) -> Vec<(State, u64)> {
    let sum =
        |state| profile.samples.iter().filter(|it| it.state == state).map(|it| it.weights.get(of)).sum();
    State::ALL.into_iter().map(|state| (state, sum(state))).filter(|it| it.1 > 0).collect()
}

#[test]
fn samples_weigh_their_number_and_their_time() {
    let profile = read(SHOP.as_bytes()).unwrap();
    assert_eq!(profile, read(&gzip(SHOP.as_bytes())).unwrap());
    let types = [SampleType::Samples, SampleType::Wall, SampleType::GvlWait, SampleType::AllocObjects];
    assert_eq!(profile.sample_types, types);
    let expected = [
        row("<main>;Shop#sort", "shop.rb", 5),
        row("<main>;Rack::Builder#call;Kernel#sleep", "shop.rb", 10),
        row("<main>;Shop#sort", "shop.rb", 1),
        row("<main>", "worker", 4),
        row("<main>", "worker", 2),
    ];
    assert_eq!(rows(&profile, SampleType::Samples), expected);
    // The last one of a thread lasts to its end, or as many mean intervals (0.5 ms).
    let times: Vec<u64> = rows(&profile, SampleType::Wall).into_iter().map(|it| it.2).collect();
    assert_eq!(times, [2_500_000, 5_000_000, 500_000, 2_500_000, 1_000_000]);
    assert_eq!(
        states(&profile, SampleType::Wall),
        [(State::Running, 6_000_000), (State::Waiting, 5_000_000), (State::Gvl, 500_000)]
    );
    assert_eq!(profile.total().get(SampleType::GvlWait), 500_000);
    assert_eq!(profile.total().get(SampleType::AllocObjects), 2);
    assert_eq!(profile.threads.iter().map(|it| it.native_id).collect::<Vec<_>>(), [4711, 0, 1]);
}

#[test]
fn functions_and_header() {
    let profile = read(SHOP.as_bytes()).unwrap();
    let functions: Vec<_> =
        profile.functions.iter().map(|it| (it.name.as_str(), it.path.as_str(), it.first_line)).collect();
    let expected = [
        ("<main>", "shop.rb", 1),
        ("Shop#sort", "shop.rb", 3),
        ("Rack::Builder#call", "gem:rack/lib/rack/builder.rb", 40),
        ("Kernel#sleep", "<cfunc>", 0),
    ];
    assert_eq!(functions, expected);
    assert_eq!(profile.frames.iter().map(|it| it.line).collect::<Vec<_>>(), [12, 4, 44, 0]);
    let meta = &profile.meta;
    assert_eq!(
        (meta.pid, meta.started_at_ns, meta.duration_ns),
        (4711, 1_764_230_000_000_500_000, 8_000_000)
    );
    assert_eq!((meta.interval_ns, meta.modes.as_slice()), (0, &["wall".to_owned()][..]));
    assert_eq!(meta.user.get("attempt").map(String::as_str), Some("2"));
    assert_eq!(
        meta.sentences(),
        [
            "read from a file of vernier: a sample weighs the time until the next one of its thread, the last one mean intervals",
            "its alloc_objects are the sampled objects: it does not say how many each one stands for",
        ]
    );
}

/// Returns the file of the shop, changed.
fn changed(change: impl FnOnce(&mut Value)) -> String {
    let mut file: Value = serde_json::from_str(SHOP).unwrap();
    change(&mut file);
    file.to_string()
}

#[test]
fn other_modes_of_vernier() {
    let retained = changed(|file| {
        let threads = file["threads"].as_array_mut().unwrap();
        for thread in threads {
            thread["samples"]["weightType"] = "bytes".into();
        }
    });
    let profile = read(retained.as_bytes()).unwrap();
    assert_eq!((profile.total().get(SampleType::InuseSpace), profile.total().get(SampleType::Wall)), (22, 0));
    assert_eq!(profile.meta.modes, ["heap"]);
    let custom = changed(|file| {
        file["threads"].as_array_mut().unwrap().truncate(1);
        file["threads"][0]["name"] = "custom".into();
    });
    let profile = read(custom.as_bytes()).unwrap();
    assert_eq!((profile.total().get(SampleType::Samples), profile.total().get(SampleType::Wall)), (16, 0));
}

#[test]
fn profiles_of_other_programs() {
    let other = changed(|file| {
        file["meta"]["product"] = "Firefox".into();
        let thread = &mut file["threads"][0];
        thread["samples"]["threadCPUDelta"] = json!([3, 0, 0, 7]);
        thread["samples"]["weight"] = Value::Null;
        // Later versions have the tables once for all threads.
        let tables = ["stackTable", "frameTable", "funcTable", "stringArray"];
        file["shared"] = tables.iter().map(|it| ((*it).to_owned(), file["threads"][0][it].clone())).collect();
        for thread in file["threads"].as_array_mut().unwrap() {
            tables.iter().for_each(|it| drop(thread.as_object_mut().unwrap().remove(*it)));
        }
        file["shared"]["stackTable"].as_object_mut().unwrap().remove("category");
    });
    let profile = read(other.as_bytes()).unwrap();
    assert_eq!(profile.sample_types, [SampleType::Samples, SampleType::Cpu]);
    assert_eq!(profile.total().get(SampleType::Samples), 4 + 4 + 2);
    assert_eq!(states(&profile, SampleType::Cpu), [(State::Running, 10_000)]);
    assert_eq!(
        states(&profile, SampleType::Samples),
        [(State::Running, 8), (State::Waiting, 1), (State::Gvl, 1)]
    );
    assert_eq!(profile.functions[2].path, "gem:rack-2.2.4:lib/rack/builder.rb");
    let expected =
        ["read from a file for the Firefox Profiler", "its allocations beside the samples are left out"];
    assert_eq!(profile.meta.sentences(), expected);
}

#[test]
fn damage_is_named() {
    let first = |at: &[&str], to: Value| {
        refusal(&changed(|file| {
            let thread = &mut file["threads"][0];
            *at.iter().fold(thread, |value, name| &mut value[*name]) = to;
        }))
    };
    for (at, to, expected) in [
        (&["samples", "weight"][..], json!([1]), "a thread does not have one weight per sample"),
        (&["samples", "weight"], json!([1, -1, 1, 1]), "a sample has a negative weight"),
        (&["samples", "weight"], json!([1, null, 1, 1]), "a sample has a negative weight"),
        (&["samples", "weight"], json!([1, 1e300, 1, 1]), "the sum of its weights is too large"),
        (&["samples", "time"], json!([]), "a thread does not have one time per sample"),
        (&["samples", "time"], json!([1]), "a thread does not have one time per sample"),
        (&["samples", "time"], json!([2, 1, 3, 4]), "its samples are not ordered by time"),
        (&["samples", "time"], json!([2, null, 3, 4]), "its samples are not ordered by time"),
        (&["samples", "time"], json!([0, 1, 2, 1e300]), "the sum of its weights is too large"),
        (&["samples", "stack"], json!([1, 4, 99, 1]), "it refers to stack 99, but has only 6"),
        (
            &["samples", "weightType"],
            json!("hours"),
            "samples in \"hours\", which is not a unit of the Firefox Profiler",
        ),
        (&["stackTable", "prefix"], json!([null, 1, 0, 2, 2, 0]), "a stack comes before its caller"),
        (&["stackTable", "frame"], json!([0, 9, 2, 3, 4, 5]), "it refers to frame 9, but has only 6"),
        (&["frameTable", "func"], json!([0, 9, 2, 3, 3, 1]), "it refers to function 9, but has only 4"),
        (&["funcTable", "name"], json!([0, 99, 2, 3]), "it refers to string 99, but has only 8"),
        (&["stringArray"], Value::Null, "a thread has no stringArray"),
    ] {
        assert_eq!(first(at, to.clone()), format!("a damaged profile: {expected}"), "{at:?} {to}");
    }
    let error = first(&["samples"], json!({}));
    assert!(error.starts_with("a damaged profile: its JSON: missing field `stack`"), "{error}");
}

proptest! {
    #![proptest_config(crate::config())]

    #[test]
    fn sums_are_those_of_the_file(
        parents in vec(any::<prop::sample::Index>(), 1..20),
        threads in vec(vec((any::<prop::sample::Index>(), 1..9_u64, 0..5_000_000_u64), 0..20), 1..4),
    ) {
        let stacks = parents.len();
        let prefix: Vec<Value> =
            parents.iter().enumerate().map(|(place, it)| if place == 0 { Value::Null } else { it.index(place).into() }).collect();
        let places: Vec<usize> = (0..stacks).collect();
        let names: Vec<String> = places.iter().map(|it| format!("f{it}")).collect();
        let mut selves: BTreeMap<String, u64> = BTreeMap::new();
        let mut sums = Vec::new();
        let mut written = Vec::new();
        for samples in &threads {
            let (mut at_ns, mut sum) = (7_000_000_000_u64, 0);
            let (mut stack, mut time, mut weight) = (Vec::new(), Vec::new(), Vec::new());
            for (place, number, gap_ns) in samples {
                let place = place.index(stacks);
                *selves.entry(format!("f{place}")).or_default() += number;
                sum += number;
                stack.push(place);
                time.push(at_ns as f64 / 1e6);
                weight.push(number);
                at_ns += gap_ns;
            }
            sums.push((sum, at_ns - 7_000_000_000));
            written.push(json!({
                "name": "worker", "tid": 0, "unregisterTime": at_ns as f64 / 1e6,
                "samples": { "stack": stack, "time": time, "weight": weight, "weightType": "samples" },
                "stackTable": { "frame": places, "prefix": prefix, "category": vec![0; stacks] },
                "frameTable": { "func": places, "line": vec![Value::Null; stacks] },
                "funcTable": { "name": places, "fileName": vec![Value::Null; stacks] },
                "stringArray": names,
            }));
        }
        let meta = json!({ "product": "Ruby/Vernier", "preprocessedProfileVersion": 48 });
        let profile = read(json!({ "meta": meta, "threads": written }).to_string().as_bytes()).unwrap();
        let mut there: BTreeMap<String, u64> = BTreeMap::new();
        let mut by_thread = vec![(0, 0); threads.len()];
        for sample in &profile.samples {
            let leaf = profile.frames_of(sample.stack).next().unwrap();
            let number = sample.weights.get(SampleType::Samples);
            *there.entry(profile.function(leaf.function).unwrap().name.clone()).or_default() += number;
            by_thread[sample.thread].0 += number;
            by_thread[sample.thread].1 += sample.weights.get(SampleType::Wall);
        }
        prop_assert_eq!(there, selves);
        prop_assert_eq!(by_thread, sums);
    }
}
