//! The part of a profile that lies within some of its markers.

use std::collections::BTreeMap;

use super::markers::{spans, MarkerSpan};
use crate::ids::Id;
use crate::profile::timeline::{Timeline, TimelineEvent};
use crate::profile::{Profile, Requests, SampleType, Weights};

/// Keeps only what threads did within these markers, which are indexes in [`Profile::markers`]. Without a timeline, nothing
/// is left.
///
/// Time counts as far as it overlaps a marker of its thread, so the wall clock time of a thread that is left is the length of
/// its markers. Objects, and time that others waited, count if they were recorded within a marker. A sample counts if any of
/// its time does.
pub(super) fn keep_during(profile: &mut Profile, markers: &[usize]) {
    let chosen = markers.iter().filter_map(|place| profile.markers.get(*place));
    let spans = spans(profile, &BTreeMap::from([("", chosen.collect())]));
    let mut kept = vec![Weights::default(); profile.samples.len()];
    let mut timeline = Timeline::default();
    let events: Vec<TimelineEvent> = profile.timeline.iter().flat_map(Timeline::iter).collect();
    for (event, time) in events.iter().zip(times(profile, &events)) {
        let place = event.row.index();
        let own = profile.samples.get(place).and_then(|sample| spans.get(sample.thread));
        let (Some(own), Some(sum)) = (own, kept.get_mut(place)) else { continue };
        let weights = within(own, event, time);
        sum.add(&weights);
        timeline.push(&TimelineEvent { weights, ..*event });
    }
    timeline.drop_more(profile.timeline.as_ref().map_or(0, Timeline::dropped));
    profile.timeline = Some(timeline);
    profile.samples.iter_mut().zip(kept).for_each(|(sample, weights)| sample.weights = weights);
    profile.retain(|sample| sample.weights != Weights::default());
    profile.requests = Requests::default(); // they have no place in the timeline
    let mut place = 0..;
    profile.markers.retain(|_| place.next().is_some_and(|place| markers.contains(&place)));
}

/// Returns when each event began and ended, ns since the start of the profile. An event is recorded some time after its end,
/// and several can be recorded together: an event ends at the latest when the next one of its thread begins.
fn times(profile: &Profile, events: &[TimelineEvent]) -> Vec<(u64, u64)> {
    let mut next_ns = vec![u64::MAX; profile.threads.len()];
    let time = |event: &TimelineEvent| {
        let weights = [SampleType::Wall, SampleType::Cpu].map(|of| event.weights.get(of));
        let length_ns = weights.into_iter().find(|ns| *ns > 0)?;
        let thread = profile.samples.get(event.row.index()).map(|it| it.thread)?;
        let next_ns = next_ns.get_mut(thread)?;
        let ended_ns = event.time_ns.min(*next_ns);
        *next_ns = ended_ns.saturating_sub(length_ns);
        Some((*next_ns, ended_ns))
    };
    let mut times: Vec<Option<(u64, u64)>> = events.iter().rev().map(time).collect();
    times.reverse();
    times.into_iter().zip(events).map(|(it, event)| it.unwrap_or((event.time_ns, event.time_ns))).collect()
}

/// Returns the weights of an event that began and ended then, as far as it lies within the spans of its thread, which are in
/// order and apart.
fn within(spans: &[MarkerSpan], event: &TimelineEvent, (began_ns, ended_ns): (u64, u64)) -> Weights {
    let first = spans.partition_point(|span| span.to_ns < began_ns.max(1));
    let near = spans.iter().skip(first).take_while(|span| span.from_ns <= ended_ns);
    let whole_ns = ended_ns.saturating_sub(began_ns);
    if whole_ns == 0 {
        return if near.count() > 0 { event.weights } else { Weights::default() };
    }
    let overlap = |span: &MarkerSpan| ended_ns.min(span.to_ns).saturating_sub(began_ns.max(span.from_ns));
    let kept_ns: u64 = near.map(overlap).sum();
    let mut weights = Weights::default();
    for of in SampleType::ALL {
        let weight = event.weights.get(of);
        let share = u128::from(weight) * u128::from(kept_ns) / u128::from(whole_ns);
        let is_count = of == SampleType::Samples && kept_ns > 0;
        weights.set(of, if is_count { weight } else { u64::try_from(share).unwrap_or(u64::MAX).min(weight) });
    }
    weights
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::analysis::example::{Example, MAIN};
    use crate::ids::RowId;
    use crate::profile::Marker;
    use crate::record::State;

    const MS: u64 = 1_000_000;
    const STARTED_AT_NS: u64 = 1_700_000_000_000_000_000;

    /// Rows of 10 ms of the main thread that end at 10 and 20 ms, and of another that end at 10 and 30 ms.
    fn example(markers: &[(&str, u64, u64)]) -> Profile {
        let mut example = Example::lasting_ms(50);
        let rows = [
            (MAIN, "A#a /a.rb:1"),
            (MAIN, "B#b /b.rb:2"),
            ("other", "C#c /c.rb:3"),
            ("other", "D#d /d.rb:4"),
        ];
        for (thread, stack) in rows {
            example.wall(thread, State::Running, 10, stack);
        }
        let mut profile = example.profile();
        profile.meta.started_at_ns = STARTED_AT_NS;
        let event = |(time_ms, row): (u64, usize)| TimelineEvent {
            time_ns: time_ms * MS,
            row: RowId::from_index(row),
            weights: profile.samples[row].weights,
        };
        profile.timeline = Some([(10, 0), (10, 2), (20, 1), (30, 3)].map(event).into_iter().collect());
        profile.markers = markers
            .iter()
            .map(|(thread, from_ms, ms)| Marker {
                started_at_ns: STARTED_AT_NS + from_ms * MS,
                duration_ns: ms * MS,
                name: "Order#save".into(),
                thread: profile.threads.iter().find(|it| it.name == *thread).unwrap().clone(),
            })
            .collect();
        profile
    }

    fn kept(mut profile: Profile, markers: &[usize]) -> Vec<(String, u64, u64)> {
        keep_during(&mut profile, markers);
        let events: u64 =
            profile.timeline.iter().flat_map(Timeline::iter).map(|it| it.weights.get(SampleType::Wall)).sum();
        assert_eq!(events, profile.total().get(SampleType::Wall));
        let row = |sample: &crate::profile::Sample| {
            let name =
                profile.frames_of(sample.stack).next().and_then(|it| profile.function(it.function)).unwrap();
            (
                name.name.clone(),
                sample.weights.get(SampleType::Wall) / MS,
                sample.weights.get(SampleType::Samples),
            )
        };
        profile.samples.iter().map(row).collect()
    }

    #[test]
    fn time_counts_as_far_as_it_overlaps_markers_of_its_thread() {
        let profile = example(&[(MAIN, 4, 8), (MAIN, 13, 2), ("other", 40, 5)]);
        let expected = vec![("A#a".to_owned(), 6, 10), ("B#b".to_owned(), 4, 10)];
        assert_eq!(kept(profile.clone(), &[0, 1, 2]), expected);
        assert_eq!(kept(profile.clone(), &[1]), [("B#b".to_owned(), 2, 10)]);
        assert_eq!(kept(profile.clone(), &[2]), []);
        assert_eq!(kept(profile, &[7]), []);
    }

    #[test]
    fn events_that_are_recorded_together_follow_each_other() {
        let mut profile = example(&[(MAIN, 0, 10), (MAIN, 10, 10)]);
        let event = |row: usize| TimelineEvent {
            time_ns: 20 * MS,
            row: RowId::from_index(row),
            weights: profile.samples[row].weights,
        };
        profile.timeline = Some([event(0), event(1)].into_iter().collect());
        assert_eq!(kept(profile.clone(), &[0]), [("A#a".to_owned(), 10, 10)]);
        assert_eq!(kept(profile, &[1]), [("B#b".to_owned(), 10, 10)]);
    }

    #[test]
    fn nested_markers_count_once() {
        let profile = example(&[(MAIN, 0, 20), (MAIN, 2, 3), ("other", 0, 50)]);
        assert_eq!(kept(profile.clone(), &[0, 1]), kept(profile.clone(), &[0]));
        assert_eq!(kept(profile, &[0, 1, 2]).len(), 4);
    }

    #[test]
    fn objects_count_if_they_were_allocated_within_a_marker() {
        let mut profile = example(&[(MAIN, 5, 8)]);
        let mut weights = Weights::default();
        weights.set(SampleType::AllocObjects, 3);
        profile.timeline = Some(
            [(4, 0), (6, 1)]
                .map(|(ms, row)| TimelineEvent { time_ns: ms * MS, row: RowId(row), weights })
                .into_iter()
                .collect(),
        );
        keep_during(&mut profile, &[0]);
        assert_eq!(profile.total().get(SampleType::AllocObjects), 3);
        assert_eq!(profile.samples.len(), 1);
    }

    #[test]
    fn other_markers_go() {
        let mut profile = example(&[(MAIN, 4, 8), (MAIN, 13, 2)]);
        keep_during(&mut profile, &[1]);
        assert_eq!(profile.markers.iter().map(|it| it.duration_ns / MS).collect::<Vec<_>>(), [2]);
        profile.timeline = None;
        keep_during(&mut profile, &[0]);
        assert!(profile.samples.is_empty());
    }
}
