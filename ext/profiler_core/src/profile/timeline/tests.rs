//! Encoding and decoding, order and bounds.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

fn event(time_ns: u64, row: u32, cpu_ns: u64) -> TimelineEvent {
    let mut weights = Weights::default();
    weights.set(SampleType::Samples, 1);
    weights.set(SampleType::Cpu, cpu_ns);
    TimelineEvent { time_ns, row: RowId(row), weights }
}

/// Generates mostly small steps, but also numbers of any size.
fn events(most: usize) -> impl Strategy<Value = Vec<TimelineEvent>> {
    let number = || prop_oneof![0..200_u64, 0..1_u64 << 40, any::<u64>()];
    let row = prop_oneof![0..9_u32, any::<u32>()];
    let weights = vec((select(SampleType::ALL.to_vec()), number()), 0..4);
    let event = (number(), row, weights).prop_map(|(time_ns, row, some)| {
        let mut weights = Weights::default();
        some.into_iter().for_each(|(of, weight)| weights.set(of, weight));
        TimelineEvent { time_ns, row: RowId(row), weights }
    });
    vec(event, 0..most)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn events_with_weight_round_trip(events in events(200)) {
        let timeline: Timeline = events.iter().copied().collect();
        let weighs = |it: &TimelineEvent| it.weights != Weights::default();
        let expected: Vec<TimelineEvent> = events.into_iter().filter(weighs).collect();
        prop_assert_eq!(timeline.iter().collect::<Vec<_>>(), expected);
        prop_assert_eq!(timeline.len(), timeline.iter().count());
    }


    #[test]
    fn merging_keeps_all_events(parts in vec(events(50), 0..5)) {
        let ordered = |it: Vec<TimelineEvent>| it.into_iter().collect::<Timeline>().in_order(Some);
        let parts: Vec<Timeline> = parts.into_iter().map(ordered).collect();
        let merged = Timeline::merged(parts.iter().map(Timeline::iter));
        let all: Timeline = parts.iter().flat_map(Timeline::iter).collect();
        prop_assert_eq!(merged, all.in_order(Some));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 8, ..ProptestConfig::default() })]

    /// Events may be out of order by more than a chunk.
    #[test]
    fn sorting_by_time_is_stable(
        times in vec(0..5_000_u64, 0..10_000),
        late in 0..10_000_u64,
    ) {
        let time = |(place, it): (usize, u64)| if it % 7 == 0 { it } else { late + it + place as u64 };
        let times = times.into_iter().enumerate().map(time);
        let mut events: Vec<_> = times.zip(0..).map(|(it, row)| event(it, row, 5)).collect();
        let timeline: Timeline = events.iter().copied().collect();
        events.sort_by_key(|it| it.time_ns);
        prop_assert_eq!(timeline.in_order(Some), events.into_iter().collect());
    }
}

#[test]
fn drops_and_counts_the_oldest_events() {
    let more = 2 * CHUNK_EVENTS + 5;
    let all = MAX_EVENTS + more;
    let mut timeline: Timeline = (0..all as u64).map(|it| event(it, 0, it)).collect();
    assert!(timeline.len() <= MAX_EVENTS && timeline.len() > MAX_EVENTS - CHUNK_EVENTS);
    assert_eq!(timeline.dropped(), (all - timeline.len()) as u64);
    assert_eq!(timeline.iter().next().unwrap().time_ns, timeline.dropped());
    assert_eq!(timeline.iter().count(), timeline.len());

    let before = timeline.clone();
    timeline.push(&event(all as u64, 0, 1));
    assert_eq!((before.len() + 1, timeline == before), (timeline.len(), false), "a copy stays what it was");
}

#[test]
fn chunks_can_be_read_separately() {
    let timeline: Timeline = (0..10_000).map(|it| event(it, 0, 1)).collect();
    let lengths: Vec<usize> = (0..).map_while(|it| Some(timeline.chunk(it)?.count())).collect();
    assert_eq!(lengths, [CHUNK_EVENTS, CHUNK_EVENTS, 10_000 - 2 * CHUNK_EVENTS]);
    assert_eq!(timeline.chunk(1).unwrap().next(), Some(event(CHUNK_EVENTS as u64, 0, 1)));
}

#[test]
fn an_event_of_a_tick_takes_about_ten_bytes() {
    // Two threads at 1 kHz whose ticks are never on time, and twenty stacks.
    let ticks = (0..100_000_u64).map(|it| {
        let jitter = it * 7_919 % 40_000;
        event(it * 500_000 + jitter, (it * 31 % 20) as u32, 980_000 + jitter)
    });
    let timeline: Timeline = ticks.collect();
    let each = timeline.bytes() as f64 / timeline.len() as f64;
    assert!((8.0..10.0).contains(&each), "{each}");
}
