//! The law of the timeline: its events are what the rows are made of.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, missing_docs)]

use profiler_core::analysis::gc::{place, Place};
use profiler_core::analysis::merge::merge;
use profiler_core::analysis::trim_paths::trim_paths;
use profiler_core::profile::LabelSet;
use profiler_core::profile::Profile;
use profiler_core::record::Kind;
use profiler_core::result::taken::Take;
use profiler_core::session::spec::{Measures, SessionSpec};
use proptest::prelude::*;

mod world;
use world::*;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn events_add_up_to_their_rows_in_order(
        measures in measures(),
        only in prop_oneof![Just(LabelSet::EMPTY), Just(labels("a"))],
        steps in steps(),
    ) {
        for profile in record(measures, only, &steps) {
            prop_assert_eq!(sums(&profile), rows(&profile));
            let timeline = profile.timeline.as_ref().unwrap();
            prop_assert_eq!(timeline.dropped(), 0);
            prop_assert!(timeline.iter().map(|it| it.time_ns).is_sorted());
            prop_assert_eq!(timed_events(&written_and_read(&profile)), timed_events(&profile));
        }
    }

    #[test]
    fn events_follow_their_rows(steps in steps()) {
        let both = Measures { cpu: true, wall: true, ..Measures::NONE };
        let [_, profile] = record(both, LabelSet::EMPTY, &steps);
        let changes = [
            place(&profile, Place::Root),
            place(&profile, Place::Ignore),
            trim_paths(&profile, &["/app".to_owned()]),
        ];
        for changed in &changes {
            prop_assert_eq!(sums(changed), rows(changed));
        }
        let times = |it: &Profile| timed_events(it).into_iter().map(|it| (it.0, it.2)).collect::<Vec<_>>();
        prop_assert_eq!(times(&changes[0]), times(&profile));
        prop_assert_eq!(times(&changes[2]), times(&profile));
    }

    #[test]
    fn merged_events_are_in_order_of_time(one in steps(), other in steps(), apart in 0..20_000_u64) {
        let both = Measures { cpu: true, wall: true, ..Measures::NONE };
        let [[_, mut one], [_, mut other]] = [one, other].map(|it| record(both, LabelSet::EMPTY, &it));
        (one.meta.started_at_ns, other.meta.started_at_ns) = (5_000, 5_000 + apart);
        let merged = merge(&[&one, &other]);
        prop_assert_eq!(sums(&merged), rows(&merged));
        let mut expected = timed_events(&one);
        expected.extend(timed_events(&other).into_iter().map(|(time, row, weights)| (time + apart, row, weights)));
        expected.sort_by_key(|it| it.0);
        prop_assert_eq!(timed_events(&merged), expected);
        prop_assert_eq!(timed_events(&merge(&[&other, &one])).len(), timed_events(&merged).len());
    }
}

#[test]
fn sessions_without_the_option_have_no_timeline() {
    let world = World::new();
    let session = world.hub.open(SessionSpec::default(), &world.registry, 0, &world.all_now());
    let closed = world.hub.take(session, &world.registry, &world.lives(), Take::Close, 0).unwrap();
    let profile = world.profile(closed);
    assert_eq!(profile.timeline, None);
    assert_eq!(written_and_read(&profile).timeline, None);
}

#[test]
fn merging_with_a_profile_without_timeline_is_noted() {
    let step = Step::Record { thread: 0, took: [5, 0, 0, 0], kind: Some(Kind::Tick), stack: 1 };
    let [_, timed] = record(Measures::default(), LabelSet::EMPTY, &[step]);
    let untimed = Profile { timeline: None, ..timed.clone() };
    let merged = merge(&[&untimed, &timed]);
    assert_eq!(timed_events(&merged), timed_events(&timed));
    assert!(merged.meta.sentences().contains(&"measured in some of the profiles only: timeline".to_owned()));
}
