//! The timeline in the native file.

use profiler_core::format::read;
use profiler_core::ids::RowId;
use profiler_core::profile::timeline::{Timeline, TimelineEvent};
use profiler_core::profile::{Profile, SampleType, Weights};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::example::example;
use crate::golden::assert_golden;
use crate::pprof::packed;
use crate::wire;

fn event(time_ns: u64, row: u32, count: u64, cpu_ns: u64) -> TimelineEvent {
    let mut weights = Weights::default();
    weights.set(SampleType::Samples, count);
    weights.set(SampleType::Cpu, cpu_ns);
    TimelineEvent { time_ns, row: RowId(row), weights }
}

/// The example with some of what its rows are made of.
pub(crate) fn timed() -> Profile {
    let events = [
        event(1_000_000, 0, 1, 1_000_000),
        event(2_000_000, 4, 1, 900_000),
        event(2_000_000, 0, 1, 1_000_000),
        event(900_000_000, 7, 0, 750),
    ];
    let mut timeline: Timeline = events.into_iter().collect();
    timeline.drop_more(3);
    Profile { timeline: Some(timeline), ..example() }
}

fn refusal(change: impl Fn(&mut Profile)) -> String {
    let mut profile = timed();
    change(&mut profile);
    read(&packed(&profile)).unwrap_err().to_string()
}

#[test]
fn the_timeline_round_trips_without_orphan_events() {
    let mut written = timed();
    let empty_row = u32::try_from(written.samples.len() - 1).unwrap();
    let timeline = written.timeline.as_mut().unwrap();
    timeline.push(&event(900_000_001, empty_row, 0, 1));
    timeline.push(&event(900_000_002, 99, 0, 1));
    assert_eq!(read(&packed(&written)).unwrap().timeline, timed().timeline);

    let nothing = Profile { timeline: Some(Timeline::default()), ..example() };
    assert_eq!(read(&packed(&nothing)).unwrap().timeline, nothing.timeline, "on, but nothing happened");
}

#[test]
fn the_timeline_precedes_all_other_fields() {
    let dump = wire::dump(&wire::unpack(&packed(&timed())));
    let (first, rest) = dump.split_once('\n').unwrap();
    assert_golden("timeline.txt", &format!("{first}\n"));
    let comment = "\"timeline: 4 events; 3 events before them were discarded\"";
    assert!(rest.contains(comment));
    let plain = wire::dump(&wire::unpack(&packed(&example())));
    assert_eq!(rest.lines().filter(|it| !it.contains(comment)).count(), plain.lines().count());
}

#[test]
fn detects_truncation_at_every_byte() {
    let plain = wire::unpack(&packed(&timed()));
    (0..plain.len()).for_each(|length| assert!(read(&plain[..length]).is_err(), "at {length}"));
}

#[test]
fn rejects_inconsistent_timelines() {
    let error = refusal(|it| it.timeline.as_mut().unwrap().push(&event(900_000_003, 0, 99, 5)));
    assert_eq!(error, "a damaged profile: its timeline weighs more than sample 0 does");

    let file = |timeline: &[u8]| {
        let mut bytes = [&[0xca, 0xc5, 0x02, timeline.len() as u8], timeline].concat();
        bytes.extend(wire::unpack(&packed(&example())));
        read(&bytes).map(|it| it.timeline).map_err(|it| it.to_string())
    };
    // Fields 2 and 3, packed, then two columns of one number.
    let columns = [0x22, 3, 0x0a, 1, 1, 0x22, 0];
    let with_columns = |head: &[u8]| file(&[head, &columns].concat());
    let fine = with_columns(&[0x12, 1, 7, 0x1a, 1, 2]).unwrap().unwrap();
    assert_eq!(fine.iter().collect::<Vec<_>>(), [event(7, 1, 1, 0)]);
    for (head, why) in [
        (&[0x12, 1, 7, 0x1a, 1, 1][..], "has an event of sample -1 of 8"),
        (&[0x12, 1, 7, 0x1a, 1, 16], "has an event of sample 8 of 8"),
        (&[0x12, 2, 7, 7, 0x1a, 1, 0], "has columns of different lengths"),
        (&[0x12, 1, 7], "has columns of different lengths"),
    ] {
        assert_eq!(with_columns(head).unwrap_err(), format!("a damaged profile: its timeline {why}"));
    }
    let no_columns = file(&[0x12, 1, 7, 0x1a, 1, 2]).unwrap_err();
    assert_eq!(no_columns, "a damaged profile: its timeline does not have one column per sample type");
    let forever =
        [0x12, 11, 7, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 0x1a, 2, 0, 0, 0x22, 0, 0x22, 0];
    assert_eq!(file(&forever).unwrap_err(), "a damaged profile: its timeline has numbers that are too large");
}

#[test]
fn rejects_oversized_timelines() {
    let many = 1_000_001;
    let length =
        |number: usize| [number as u8 & 127 | 128, (number >> 7) as u8 & 127 | 128, (number >> 14) as u8];
    let ones = |field: u8| [&[field][..], &length(many), &vec![0; many]].concat();
    let timeline = [&ones(0x12)[..], &ones(0x1a), &[0x22, 0, 0x22, 0]].concat();
    let mut bytes = [&[0xca, 0xc5, 0x02][..], &length(timeline.len()), &timeline].concat();
    bytes.extend(wire::unpack(&packed(&example())));
    let error = read(&bytes).unwrap_err().to_string();
    assert_eq!(error, "a damaged profile: its timeline has 1000001 events (allowed: up to 1000000)");
}

proptest! {
    #![proptest_config(crate::config())]

    #[test]
    fn mutated_files_never_panic(
        changes in prop::collection::vec((0..80_usize, any::<u8>()), 1..4),
        more in prop::collection::vec((any::<Index>(), any::<u8>()), 0..2),
    ) {
        let mut bytes = wire::unpack(&packed(&timed()));
        let length = bytes.len();
        for (place, byte) in changes.into_iter().chain(more.into_iter().map(|it| (it.0.index(length), it.1))) {
            bytes[place] = byte;
        }
        if let Ok(profile) = read(&bytes) {
            prop_assert_eq!(read(&packed(&profile)).unwrap().timeline, profile.timeline);
        }
    }
}
