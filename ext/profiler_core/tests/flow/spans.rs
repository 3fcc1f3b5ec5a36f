//! The span that a sample was taken in, for sessions that keep spans apart.

use profiler_core::ids::ThreadId;
use profiler_core::pipeline::hub::Hub;
use profiler_core::profile::{Profile, SampleType};
use profiler_core::record::detail::GcCause;
use profiler_core::record::ring::Ring;
use profiler_core::record::{push, Header, Kind, RawRecord, Span, Walk};
use profiler_core::result::taken::Take;
use profiler_core::session::spec::{Measures, SessionSpec};
use proptest::prelude::*;

use super::world::*;

/// A span below that of the number `root`, in a trace of its own.
fn span(trace: u8, number: u8, root: u8) -> Span {
    Span { trace_id: [trace; 16], span_id: [number; 8], root_id: [root; 8] }
}

fn header(span: Option<Span>, cpu_ns: u64) -> Header {
    Header { span, cpu_ns, ..Header::new(ThreadId(1), cpu_ns) }
}

fn tick(hub: &Hub, span: Option<Span>, cpu_ns: u64) {
    let walk = Walk { handles: &[handle(16)], lines: &[1], rootless: false };
    push(&hub.ring, Kind::Tick, &header(span, cpu_ns), walk, 2048).unwrap();
}

fn spec() -> SessionSpec {
    SessionSpec { measures: Measures::default(), spans: true, ..SessionSpec::default() }
}

/// CPU time by trace, span and root, of what has a trace.
fn by_span(profile: &Profile) -> Vec<(String, u64)> {
    let row = |it: &profiler_core::profile::Sample| {
        let value = |(_, value): &(String, String)| value.chars().take(2).collect::<String>();
        let labels: Vec<String> = it.labels.iter().map(value).collect();
        (labels.join(" "), it.weights.get(SampleType::Cpu))
    };
    let mut rows: Vec<_> = profile.samples.iter().map(row).collect();
    rows.sort();
    rows
}

#[test]
fn only_requesting_sessions_have_spans() {
    let (hub, registry) = (Hub::new(4096), Ended::default());
    let plain = hub.open(SessionSpec::default(), &registry, 0, &[now(1, 0)]);
    let session = hub.open(spec(), &registry, 0, &[now(1, 0)]);
    for (span, at) in
        [(Some(span(1, 2, 2)), 10), (Some(span(1, 3, 2)), 30), (None, 100), (Some(span(1, 2, 2)), 105)]
    {
        tick(&hub, span, at);
    }
    let profile = finish(&hub, session, &registry, &[life(1, 0, 106, "one")]);
    // The root comes first, as labels are sorted by name.
    let expected = [("", 70), ("02 01", 16), ("02 03 01", 20)];
    assert_eq!(by_span(&profile), expected.map(|(row, ns)| (row.to_owned(), ns)));
    let names: Vec<&str> =
        profile.samples.iter().flat_map(|it| it.labels.iter().map(|it| it.0.as_str())).collect();
    assert!(names.contains(&"trace_id") && names.contains(&"span_id") && names.contains(&"root_span_id"));
    let profile = finish(&hub, plain, &registry, &[life(1, 0, 106, "one")]);
    assert_eq!(by_span(&profile), [(String::new(), 106)]);
}

#[test]
fn spans_outlast_rotations_and_generations() {
    let (hub, registry) = (Hub::new(4096), Ended::default());
    let session = hub.open(spec(), &registry, 0, &[now(1, 0)]);
    tick(&hub, Some(span(9, 9, 9)), 5);
    tick(&hub, Some(span(1, 2, 2)), 10);
    let first = hub.take(session, &registry, &[life(1, 0, 20, "one")], Take::Rotate, 20).unwrap();
    assert_eq!(by_span(&named(&hub, first)), [("02 01".into(), 15), ("09 09".into(), 5)]);
    // The last stack of the window before gets the rest, with its span.
    let second = hub.take(session, &registry, &[life(1, 0, 30, "one")], Take::Rotate, 30).unwrap();
    assert_eq!(by_span(&named(&hub, second)), [("02 01".into(), 10)]);
    while hub.drain_batch(&registry) {}
    hub.freeze_generation();
    tick(&hub, Some(span(3, 3, 3)), 50);
    while hub.drain_batch(&registry) {}
    hub.freeze_generation();
    tick(&hub, Some(span(3, 3, 3)), 60);
    let profile = finish(&hub, session, &registry, &[life(1, 0, 61, "one")]);
    assert_eq!(by_span(&profile), [("03 03".into(), 31)]);
}

#[test]
fn time_beyond_the_bound_has_no_span_and_a_note() {
    let (hub, registry) = (Hub::new(1 << 16), Ended::default());
    let session = hub.open(spec(), &registry, 0, &[now(1, 0)]);
    let many = profiler_core::session::spans::MAX_SPANS as u64 + 5;
    for number in 1..=many {
        let mut it = span(1, 1, 1);
        it.span_id = number.to_be_bytes();
        tick(&hub, Some(it), number);
        while hub.drain_batch(&registry) {}
    }
    let profile = finish(&hub, session, &registry, &[life(1, 0, many, "one")]);
    assert_eq!(profile.total().get(SampleType::Cpu), many);
    let without: Vec<u64> = profile
        .samples
        .iter()
        .filter(|it| it.labels.is_empty())
        .map(|it| it.weights.get(SampleType::Cpu))
        .collect();
    assert_eq!(without, [5]);
    let notes: Vec<String> = profile.meta.notes.iter().map(|it| it.sentence()).collect();
    assert_eq!(notes, ["too many different spans: left out 5 times"]);
}

proptest! {
    #[test]
    fn records_round_trip_with_and_without_a_span(
        words in proptest::option::of(any::<[u64; 4]>()),
        frames in 0..20_usize,
        gc in any::<bool>(),
    ) {
        let span = words.and_then(Span::from_words);
        prop_assert_eq!(span.map(|it| it.words()), words.filter(|it| it[0] | it[1] != 0));
        let kind = if gc { Kind::Gc { ticked: true, since_tick_ns: 7, cause: GcCause::minor(0) } } else { Kind::Tick };
        let ring = Ring::with_capacity(1024);
        let handles: Vec<u64> = (0..frames as u64).map(handle).collect();
        let lines = vec![3; frames];
        let walk = Walk { handles: &handles, lines: &lines, rootless: false };
        push(&ring, kind, &header(span, 9), walk, 2048).unwrap();
        let mut scratch = Vec::new();
        prop_assert!(ring.pop(&mut scratch));
        let record = RawRecord::decode(&scratch).unwrap();
        prop_assert_eq!(record.header, header(span, 9));
        prop_assert_eq!(record.kind, kind);
        prop_assert_eq!(record.frames().len(), frames + usize::from(gc));
        // Half a record is none.
        for length in 0..scratch.len() {
            prop_assert!(RawRecord::decode(&scratch[..length]).is_none());
        }
    }
}
