//! The markers of a profile by name: how many there were, how long they took, and where their threads were during them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::sites::Sites;
use crate::ids::Id;
use crate::profile::{Frame, Marker, Profile};

/// All markers of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkerSum {
    /// The app's name for them.
    pub name: String,
    /// How many there were.
    pub count: u64,
    /// The length of all of them, ns. Time in nested markers of one name counts in each.
    pub total_ns: u64,
    /// The length of the longest, ns.
    pub largest_ns: u64,
    /// The line that their threads were at for most of the time. `None` without a timeline, or if they were too short.
    pub place: Option<Frame>,
}

impl MarkerSum {
    /// Returns the mean length, ns.
    #[must_use]
    pub fn mean_ns(&self) -> u64 {
        self.total_ns.checked_div(self.count).unwrap_or(0)
    }
}

/// Sums up the markers of `profile` by name: those with the most time first, equal ones by count and name.
///
/// An event of the timeline counts for the markers of its thread as far as the time that it weighs overlaps them.
#[must_use]
pub fn marker_sums(profile: &Profile) -> Vec<MarkerSum> {
    let mut names: BTreeMap<&str, Vec<&Marker>> = BTreeMap::new();
    for marker in &profile.markers {
        names.entry(&marker.name).or_default().push(marker);
    }
    let mut places = places(profile, &names);
    let sum = |(number, (name, markers)): (usize, (&str, Vec<&Marker>))| MarkerSum {
        name: name.into(),
        count: markers.len() as u64,
        total_ns: markers.iter().fold(0, |sum, marker| sum.saturating_add(marker.duration_ns)),
        largest_ns: markers.iter().map(|marker| marker.duration_ns).max().unwrap_or(0),
        place: heaviest(profile, places.remove(&number).unwrap_or_default()),
    };
    let mut sums: Vec<MarkerSum> = names.into_iter().enumerate().map(sum).collect();
    // The sort is stable, and the names are in order.
    sums.sort_by_key(|sum| (Reverse(sum.total_ns), Reverse(sum.count)));
    sums
}

/// The weight of each line, by the number of a name.
type Places = BTreeMap<usize, BTreeMap<Frame, u64>>;

/// A time in which a thread was in markers of a name, ns since the start of the profile.
pub(super) struct MarkerSpan {
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    name: usize,
}

fn places(profile: &Profile, names: &BTreeMap<&str, Vec<&Marker>>) -> Places {
    let mut places = Places::new();
    let Some(timeline) = profile.timeline.as_ref().filter(|_| !names.is_empty()) else { return places };
    let sites = Sites::of(profile);
    let of = profile.default_sample_type();
    let is_time = of.name_and_unit().1 == "nanoseconds";
    let spans = spans(profile, names);
    let mut next = vec![0_usize; spans.len()];
    let mut open: Vec<Vec<&MarkerSpan>> = spans.iter().map(|_| Vec::new()).collect();
    for event in timeline.iter() {
        let weight = event.weights.get(of);
        let began_ns = event.time_ns.saturating_sub(if is_time { weight } else { 0 });
        let Some(sample) = profile.samples.get(event.row.index()).filter(|_| weight > 0) else { continue };
        let thread = sample.thread;
        let (Some(spans), Some(next), Some(open)) =
            (spans.get(thread), next.get_mut(thread), open.get_mut(thread))
        else {
            continue;
        };
        while let Some(span) = spans.get(*next).filter(|span| span.from_ns < event.time_ns) {
            open.push(span);
            *next += 1;
        }
        open.retain(|span| span.to_ns > began_ns);
        if open.is_empty() {
            continue;
        }
        let site = sites.nearest(sample.stack).filter(|site| sites.is_code(*site));
        let Some(site) = site else { continue };
        for span in &*open {
            let overlap_ns = event.time_ns.min(span.to_ns).saturating_sub(began_ns.max(span.from_ns));
            let weight = if is_time { overlap_ns } else { weight };
            if weight > 0 {
                let sum = places.entry(span.name).or_default().entry(site).or_default();
                *sum = sum.saturating_add(weight);
            }
        }
    }
    places
}

/// Returns the spans of each thread, ordered by start. Overlapping markers of one name are joined, so nested ones count once.
pub(super) fn spans(profile: &Profile, names: &BTreeMap<&str, Vec<&Marker>>) -> Vec<Vec<MarkerSpan>> {
    let mut spans: Vec<Vec<MarkerSpan>> = profile.threads.iter().map(|_| Vec::new()).collect();
    for (name, markers) in names.values().enumerate() {
        let mut markers = markers.clone();
        markers.sort_by_key(|marker| marker.started_at_ns);
        for marker in markers {
            let thread = profile.threads.iter().position(|thread| *thread == marker.thread);
            let Some(own) = thread.and_then(|thread| spans.get_mut(thread)) else { continue };
            let from_ns = marker.started_at_ns.saturating_sub(profile.meta.started_at_ns);
            let to_ns = from_ns.saturating_add(marker.duration_ns);
            match own.last_mut().filter(|last| last.name == name && from_ns <= last.to_ns) {
                Some(last) => last.to_ns = last.to_ns.max(to_ns),
                None => own.push(MarkerSpan { from_ns, to_ns, name }),
            }
        }
    }
    spans.iter_mut().for_each(|own| own.sort_by_key(|span| span.from_ns));
    spans
}

/// Returns the frame with the most weight. Ties are ordered by function and line, so the result does not depend on the order
/// of tables.
fn heaviest(profile: &Profile, lines: BTreeMap<Frame, u64>) -> Option<Frame> {
    let heaviest = lines
        .into_iter()
        .max_by_key(|(frame, weight)| (*weight, Reverse((profile.function(frame.function), frame.line))));
    heaviest.map(|(frame, _)| frame)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::analysis::example::{Example, MAIN};
    use crate::ids::RowId;
    use crate::profile::timeline::{Timeline, TimelineEvent};
    use crate::record::State;

    const MS: u64 = 1_000_000;
    const STARTED_AT_NS: u64 = 1_700_000_000_000_000_000;

    /// Three rows of 10 ms of the main thread, and one of another, all of whose events end at 10, 20, ... ms.
    fn example() -> Profile {
        let mut example = Example::lasting_ms(50);
        example.wall(
            MAIN,
            State::Waiting,
            10,
            "<main> /app/a.rb:1; Order.all /app/a.rb:7; Conn#exec /g/gems/pg-1/a.rb:3",
        );
        example.wall(
            MAIN,
            State::Waiting,
            10,
            "<main> /app/a.rb:1; Order.one /app/a.rb:9; Conn#exec /g/gems/pg-1/a.rb:3",
        );
        example.wall(MAIN, State::Running, 10, "<main> /app/a.rb:1");
        example.wall("other", State::Running, 10, "Other#run /app/b.rb:2");
        let mut profile = example.profile();
        profile.meta.started_at_ns = STARTED_AT_NS;
        let event = |(place, row): (u64, usize)| TimelineEvent {
            time_ns: (place + 1) * 10 * MS,
            row: RowId::from_index(row),
            weights: profile.samples[row].weights,
        };
        profile.timeline = Some((0..).zip([0, 1, 2, 3]).map(event).collect::<Timeline>());
        profile
    }

    fn marker(profile: &Profile, name: &str, from_ms: u64, ms: u64) -> Marker {
        let thread = profile.threads.iter().find(|thread| thread.name == MAIN).unwrap().clone();
        Marker {
            started_at_ns: STARTED_AT_NS + from_ms * MS,
            duration_ns: ms * MS,
            name: name.into(),
            thread,
        }
    }

    fn places(profile: &Profile) -> Vec<(String, Option<(String, u32)>)> {
        let name = |frame: Frame| (profile.function(frame.function).unwrap().name.clone(), frame.line);
        marker_sums(profile).into_iter().map(|sum| (sum.name, sum.place.map(name))).collect()
    }

    #[test]
    fn markers_are_summed_by_name() {
        let mut profile = example();
        profile.markers = [("b", 3), ("a", 1), ("b", 5), ("c", 0), ("a", 7)]
            .map(|(name, ms)| marker(&profile, name, 0, ms))
            .into();
        let sums = marker_sums(&profile);
        let found: Vec<_> = sums
            .iter()
            .map(|it| (&*it.name, it.count, it.total_ns / MS, it.mean_ns() / MS, it.largest_ns / MS))
            .collect();
        assert_eq!(found, [("a", 2, 8, 4, 7), ("b", 2, 8, 4, 5), ("c", 1, 0, 0, 0)]);
    }

    #[test]
    fn a_marker_is_where_its_thread_was_at_the_app() {
        let mut profile = example();
        profile.markers = vec![
            marker(&profile, "all", 2, 10),
            marker(&profile, "one", 15, 5),
            marker(&profile, "short", 21, 2),
            marker(&profile, "of another thread", 31, 10),
            marker(&profile, "now", 15, 0),
        ];
        let at = |name: &str, line| Some((name.to_owned(), line));
        let expected = [
            ("all".into(), at("Order.all", 7)),
            ("of another thread".into(), None),
            ("one".into(), at("Order.one", 9)),
            ("short".into(), at("<main>", 1)),
            ("now".into(), None),
        ];
        assert_eq!(places(&profile), expected);
    }

    #[test]
    fn nested_markers_are_each_where_their_thread_was() {
        let mut profile = example();
        profile.markers = vec![marker(&profile, "request", 0, 20), marker(&profile, "sql", 11, 9)];
        profile.markers.push(marker(&profile, "request", 1, 9));
        let found = places(&profile);
        assert_eq!(found[0], ("request".into(), Some(("Order.all".into(), 7))));
        assert_eq!(found[1], ("sql".into(), Some(("Order.one".into(), 9))));
    }

    #[test]
    fn without_a_timeline_there_is_no_place() {
        let mut profile = example();
        profile.markers = vec![marker(&profile, "all", 2, 10)];
        profile.timeline = None;
        assert_eq!(places(&profile), [("all".into(), None)]);
    }
}
