//! Names, depths and numbers that should not occur.

use super::*;
use crate::profile::LabelSet;

fn cpu(stack: &[&str], labels: &[(&str, &str)], weight: u64) -> Given {
    let own = |it: &&str| (*it).to_owned();
    Given {
        stack: stack.iter().map(own).collect(),
        thread: 1,
        labels: labels.iter().map(|(name, value)| (own(name), own(value))).collect(),
        weights: vec![(SampleType::Cpu, weight)],
    }
}

fn sent(samples: &[Given], shape: &Shape) -> Sent {
    let profile = profile_of(&[SampleType::Samples, SampleType::Cpu], samples);
    let sent = Sent::of_pprof(&pprof::encode(&profile, Family::Cpu, shape).unwrap().unwrap());
    assert_eq!(sent.totals(), totals(&profile));
    let export = Sent::of_export(&otlp::encode(&profile, &Family::ALL, shape, &[], ID).unwrap());
    assert_eq!(export.totals(), totals(&profile));
    sent
}

fn key(value: &str) -> (String, String) {
    ("cpu".into(), value.into())
}

#[test]
fn deep_stacks_keep_their_leaves() {
    let names: Vec<String> = (0..2_000).map(|it| format!("m{it}")).collect();
    let deep = |root: &str| {
        let mut stack = vec![root];
        stack.extend(names.iter().map(String::as_str));
        cpu(&stack, &[], 5)
    };
    let it = sent(&[deep("a"), deep("b")], &Shape::default());
    let [(stack, ..)] = &it.samples[..] else { panic!("equal leaves are not one sample") };
    assert_eq!(stack.len(), 1_000);
    assert_eq!((&*stack[0], &*stack[998], &*stack[999]), ("m1999", "m1001", "(truncated)"));
    let whole = sent(&[cpu(&["a", "b", "c"], &[], 5)], &Shape { depth: 3, ..Shape::default() });
    assert_eq!(whole.samples[0].0, ["c", "b", "a"]);
}

#[test]
fn the_heaviest_of_many_values_keep_their_names() {
    let values: Vec<String> = (0..10_000).map(|it| format!("value {it}")).collect();
    let given =
        |(place, value): (usize, &String)| cpu(&["main", "f"], &[("endpoint", value)], place as u64 + 1);
    let it = sent(&values.iter().enumerate().map(given).collect::<Vec<_>>(), &Shape::default());
    let by = it.by("endpoint");
    assert_eq!(by.len(), 101);
    assert_eq!(by[&key("value 9999")], 10_000);
    assert_eq!(by[&key("value 9900")], 9_901);
    assert_eq!(by[&key(OTHER)], 9_900 * 9_901 / 2);
}

#[test]
fn the_lightest_samples_become_one_of_each_set_of_labels() {
    let names: Vec<String> = (0..100).map(|it| format!("m{it}")).collect();
    let given = |(place, name): (usize, &String)| {
        cpu(&["main", name], &[("job", if place % 2 == 0 { "a" } else { "b" })], place as u64 + 1)
    };
    let given: Vec<Given> = names.iter().enumerate().map(given).collect();
    let it = sent(&given, &Shape { samples: 10, ..Shape::default() });
    let leaves: Vec<&str> = it.samples.iter().map(|it| it.0[0].as_str()).collect();
    assert_eq!(leaves, ["m99", "m98", "m97", "m96", "m95", "m94", "m93", "m92", OTHER, OTHER]);
    assert_eq!(it.by("job"), sent(&given, &Shape::default()).by("job"));
    let it = sent(&given, &Shape { samples: 1, ..Shape::default() });
    assert_eq!(it.by("job"), BTreeMap::from([(key(OTHER), 5_050)]));
}

#[test]
fn long_messages_have_fewer_samples() {
    let names: Vec<String> = (0..2_000).map(|it| format!("a method with a long name {it}")).collect();
    let given = |(place, name): (usize, &String)| cpu(&["main", name], &[], place as u64 + 1);
    let given: Vec<Given> = names.iter().enumerate().map(given).collect();
    let it = sent(&given, &Shape { bytes: 20_000, ..Shape::default() });
    assert!(it.length <= 20_000 && it.length > 15_000, "{}", it.length);
    assert!(it.samples.iter().any(|it| it.0 == ["(other)"]));
    assert_eq!(it.samples[0].0[0], "a method with a long name 1999");
}

#[test]
fn no_name_breaks_a_message() {
    let names = ["", "\0", "a\nb", "<script>", "状態", "\u{202e}", "a-b.c", "__name__", "%s"];
    let shape = Shape {
        labels: names.iter().map(|it| ((*it).to_owned(), (*it).to_owned())).collect(),
        dimensions: names.iter().map(|it| format!("d{it}")).collect(),
        ..Shape::default()
    };
    let labels: Vec<(String, &str)> = names.iter().map(|it| (format!("d{it}"), *it)).collect();
    let labels: Vec<(&str, &str)> = labels.iter().map(|(name, value)| (&**name, *value)).collect();
    let profile = profile_of(&[SampleType::Cpu], &[cpu(&names, &labels, 3)]);
    let body = pyroscope::encode(&profile, &Family::ALL, &shape, ID).unwrap().unwrap();
    let [(series, _, sent)] = &Sent::of_push(&body)[..] else { panic!("not one series") };
    assert_eq!(series["__name__"], "process_cpu");
    assert!(series.keys().all(|it| crate::upload::label_name::label_name(it) == *it));
    assert_eq!(sent.samples[0].0.iter().rev().collect::<Vec<_>>(), names.iter().collect::<Vec<_>>());
    Sent::of_export(&otlp::encode(&profile, &Family::ALL, &shape, &shape.labels, ID).unwrap());
}

#[test]
fn families_are_what_the_profile_measures() {
    let of = |weights: &[(SampleType, u64)]| Given { weights: weights.to_vec(), ..cpu(&["main"], &[], 0) };
    let types = SampleType::ALL;
    let given = [
        of(&[(SampleType::Samples, 5), (SampleType::Wall, 7), (SampleType::Gc, 2)]),
        of(&[(SampleType::InuseObjects, 1), (SampleType::InuseSpace, 40)]),
    ];
    let mut profile = profile_of(&types, &given);
    profile.add_labels(&LabelSet::EMPTY.with([("job".to_owned(), Some("x".to_owned()))]));
    let shape = Shape { labels: vec![("service_name".into(), "shop".into())], ..Shape::default() };
    let series = Sent::of_push(&pyroscope::encode(&profile, &Family::ALL, &shape, ID).unwrap().unwrap());
    let label = |name: &str| series.iter().map(|it| it.0[name].clone()).collect::<Vec<_>>();
    assert_eq!(label("__name__"), ["wall", "memory"]);
    assert_eq!(label("service_name"), ["shop", "shop"]);
    assert_eq!(label("__delta__"), ["false", "false"]);
    assert_ne!(series[0].1, series[1].1);
    assert_eq!(series[1].2.samples[0].1, BTreeMap::from([("job".to_owned(), "x".to_owned())]));
    assert!(pprof::encode(&profile, Family::Cpu, &shape).unwrap().is_none());
    assert!(otlp::encode(&profile, &[Family::Cpu, Family::Allocations], &shape, &[], ID).is_none());
    assert!(pyroscope::encode(&Profile::default(), &Family::ALL, &shape, ID).unwrap().is_none());
}
