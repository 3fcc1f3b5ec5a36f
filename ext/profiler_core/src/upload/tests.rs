//! Tests that read the sent data back: sums are conserved, bounds are kept, and no name breaks a message.

mod hostile;
mod sent;

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use self::sent::Sent;
use super::{otlp, pprof, pyroscope, Family, ProfileId, Shape};
use crate::ids::StackId;
use crate::profile::table_builder::{SampleKey, TableBuilder};
use crate::profile::{
    Frame, Function, Meta, Node, Profile, SampleType, Thread, Weights, OTHER, ROOT_SPAN, SPAN, TRACE,
};
use crate::record::State;
use crate::text::hex;

const ID: ProfileId = ProfileId([7; 16]);

/// A sample: the names of functions from the root on, labels, and weights.
#[derive(Clone, Debug)]
struct Given {
    stack: Vec<String>,
    thread: u64,
    labels: Vec<(String, String)>,
    weights: Vec<(SampleType, u64)>,
}

fn profile_of(types: &[SampleType], samples: &[Given]) -> Profile {
    let mut tables = TableBuilder::default();
    for it in samples {
        let mut stack: Option<StackId> = None;
        for name in &it.stack {
            let (class_name, method_name) = (String::new(), String::new());
            let path = "/app/shop.rb".into();
            let function = Function { name: name.clone(), class_name, method_name, path, first_line: 1 };
            let function = tables.function(function);
            let frame = tables.frame(Frame { function, line: 2 });
            stack = Some(tables.stack(Node { parent: stack, frame }));
        }
        let thread = tables.thread(Thread { native_id: it.thread, name: "thread".into() });
        let mut weights = Weights::default();
        it.weights.iter().for_each(|(of, weight)| weights.set(*of, *weight));
        let row =
            SampleKey { stack: stack.unwrap(), thread, state: State::Running, labels: it.labels.clone() };
        tables.add_row(row, &weights);
    }
    let meta = Meta { started_at_ns: 1_000, duration_ns: 500, interval_ns: 10, ..Meta::default() };
    Profile { sample_types: types.to_vec(), meta, ..tables.into_profile() }
}

/// Returns the totals of everything that is sent, by the name of the type.
fn totals(profile: &Profile) -> BTreeMap<String, i64> {
    let total = profile.total();
    let sent = SampleType::ALL.into_iter().filter(|it| *it != SampleType::Samples && total.get(*it) > 0);
    sent.map(|it| (it.name_and_unit().0.to_owned(), total.get(it) as i64)).collect()
}

fn given(types: Vec<SampleType>) -> impl Strategy<Value = Given> {
    let names = |names: &'static [&str]| select(names.to_vec()).prop_map(str::to_owned);
    let labels = btree_map(
        names(&["endpoint", "job", "http.route", "http_route", "class"]),
        names(&["", "a", "b", "c", "d", "(other)", "x\ny"]),
        0..4,
    );
    let spans = option::of((1..3_u8, 1..4_u8, option::of(Just(9_u8)), any::<bool>()));
    let weights = vec(prop_oneof![2 => Just(0), 3 => 1..9_u64, 1 => 0..1_u64 << 40], types.len());
    (vec(names(&["main", "f", "g", "(other)"]), 1..9), 1..4_u64, labels, spans, weights).prop_map(
        move |(stack, thread, mut labels, span, weights)| {
            labels.extend(span.into_iter().flat_map(span_labels));
            Given {
                stack,
                thread,
                labels: labels.into_iter().collect(),
                weights: types.iter().copied().zip(weights).collect(),
            }
        },
    )
}

/// Returns the labels of a span, or of a broken one, as an app may set such labels itself.
fn span_labels((trace, span, root, broken): (u8, u8, Option<u8>, bool)) -> Vec<(String, String)> {
    let trace = if broken { "of the app".into() } else { hex(&[trace; 16]) };
    let root = root.map(|it| (ROOT_SPAN, hex(&[it; 8])));
    let labels = [(TRACE, trace), (SPAN, hex(&[span; 8]))].into_iter().chain(root);
    labels.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Returns the weight of each span of a profile, by type and by the text that `text` makes of its trace,
/// itself and its root.
fn by_span(profile: &Profile, text: impl Fn(&str, &str, &str) -> String) -> BTreeMap<(String, String), i64> {
    let mut sums = BTreeMap::new();
    for sample in &profile.samples {
        let label = |name: &str| sample.label(name);
        let (Some(trace), Some(span)) = (label(TRACE).filter(|it| *it != "of the app"), label(SPAN)) else {
            continue;
        };
        let text = text(trace, span, label(ROOT_SPAN).unwrap_or(span));
        for of in SampleType::ALL.into_iter().skip(1).filter(|it| sample.weights.get(*it) > 0) {
            *sums.entry((of.name_and_unit().0.to_owned(), text.clone())).or_insert(0) +=
                sample.weights.get(of) as i64;
        }
    }
    sums
}

fn profiles() -> impl Strategy<Value = Profile> {
    subsequence(SampleType::ALL.to_vec(), 1..10).prop_flat_map(|types| {
        vec(given(types.clone()), 0..60).prop_map(move |samples| profile_of(&types, &samples))
    })
}

fn shapes() -> impl Strategy<Value = Shape> {
    let names = vec!["endpoint", "job", "http.route", "http_route", ""];
    let dimensions = subsequence(names, 0..5).prop_map(|it| it.into_iter().map(str::to_owned).collect());
    let labels = select(vec![vec![], vec![("region".to_owned(), "eu".to_owned())]]);
    (dimensions, labels, 0..4_usize, 1..12_usize, 1..40_usize, 300..3_000_usize).prop_map(
        |(dimensions, labels, values, depth, samples, bytes)| Shape {
            labels,
            dimensions,
            values,
            depth,
            samples,
            bytes,
        },
    )
}

/// Checks that bounds are kept. A message of one sample may be too long.
fn expect_bounds(sent: &Sent, shape: &Shape) {
    let samples = sent.samples.len();
    assert!(samples <= shape.samples, "{samples} samples");
    assert!(sent.length <= shape.bytes || samples == 1, "{} bytes, {samples} samples", sent.length);
    assert!(sent.samples.iter().all(|it| it.0.len() <= shape.depth));
    for name in &shape.dimensions {
        let by = sent.by(name);
        let values: std::collections::BTreeSet<_> =
            by.keys().map(|it| &it.1).filter(|it| *it != OTHER).collect();
        assert!(values.len() <= shape.values, "{values:?}");
    }
}

proptest! {
    // A case writes whole files, so there are fewer cases than elsewhere.
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn sums_are_conserved_within_all_bounds(profile in profiles(), shape in shapes()) {
        let expected = totals(&profile);
        let mut sent = BTreeMap::new();
        for family in Family::ALL {
            let Some(file) = pprof::encode(&profile, family, &shape).unwrap() else { continue };
            let it = Sent::of_pprof(&file);
            expect_bounds(&it, &shape);
            prop_assert_eq!(file, pprof::encode(&profile, family, &shape).unwrap().unwrap());
            sent.extend(it.totals());
        }
        prop_assert_eq!(&sent, &expected);

        let body = pyroscope::encode(&profile, &Family::ALL, &shape, ID).unwrap();
        let series = body.as_deref().map(Sent::of_push).unwrap_or_default();
        series.iter().for_each(|it| expect_bounds(&it.2, &shape));
        let sent: BTreeMap<_, _> = series.iter().flat_map(|it| it.2.totals()).collect();
        prop_assert_eq!(&sent, &expected);

        let body = otlp::encode(&profile, &Family::ALL, &shape, &[], ID);
        prop_assert_eq!(body.map(|it| Sent::of_export(&it).totals()).unwrap_or_default(), expected);
    }

    #[test]
    fn encodings_agree_on_stacks_and_labels_where_nothing_is_cut(profile in profiles()) {
        let shape = Shape { dimensions: vec!["endpoint".into(), "http.route".into()], ..Shape::default() };
        let export = otlp::encode(&profile, &Family::ALL, &shape, &[], ID);
        let export = export.map(|it| Sent::of_export(&it)).unwrap_or_default();
        let files = Family::ALL.into_iter().filter_map(|it| pprof::encode(&profile, it, &shape).unwrap());
        let samples = files.flat_map(|it| Sent::of_pprof(&it).samples).collect();
        let files = Sent { samples, length: 0 };
        prop_assert_eq!(files.stacks(), export.stacks());
        prop_assert_eq!(export.by("link"), by_span(&profile, |trace, span, _| format!("{trace} {span}")));
        prop_assert!(files.by(SPAN).is_empty());
        let push = pyroscope::encode(&profile, &Family::ALL, &shape, ID).unwrap();
        let series = push.as_deref().map(Sent::of_push).unwrap_or_default();
        let push: BTreeMap<_, _> = series.iter().flat_map(|it| it.2.by(SPAN)).collect();
        prop_assert_eq!(push, by_span(&profile, |_, _, root| root.to_owned()));
        for (name, sent_as) in [("endpoint", "endpoint"), ("http.route", "http_route")] {
            prop_assert_eq!(files.by(sent_as), export.by(sent_as));
            let mut expected = BTreeMap::new();
            for sample in &profile.samples {
                let Some(value) = sample.label(name) else { continue };
                for of in SampleType::ALL.into_iter().skip(1).filter(|it| sample.weights.get(*it) > 0) {
                    let key = (of.name_and_unit().0.to_owned(), value.to_owned());
                    *expected.entry(key).or_insert(0) += sample.weights.get(of) as i64;
                }
            }
            expected.retain(|(_, value), _| !value.is_empty());
            prop_assert_eq!(files.by(sent_as), expected);
        }
    }
}
