//! The law of the timeline: its events are what the rows are made of.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, missing_docs)]

use profiler_core::analysis::gc::{place, Place};
use profiler_core::analysis::merge::merge;
use profiler_core::analysis::trim_paths::trim_paths;
use profiler_core::profile::LabelSet;
use profiler_core::profile::Profile;
use profiler_core::record::Kind;
use profiler_core::session::spec::{Measures, SessionSpec};
use proptest::prelude::*;

mod world;
use world::*;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn events_weigh_what_their_rows_weigh_and_come_in_order(
        measures in measures(),
        only in prop_oneof![Just(LabelSet::EMPTY), Just(labels("a"))],
        steps in steps(),
    ) {
        for profile in record(measures, only, &steps) {
            prop_assert_eq!(sums(&profile), rows(&profile));
            let timeline = profile.timeline.as_ref().unwrap();
            prop_assert_eq!(timeline.dropped(), 0);
            prop_assert!(timeline.iter().map(|it| it.time_ns).is_sorted());
            prop_assert_eq!(told(&written_and_read(&profile)), told(&profile));
        }
    }

    #[test]
    fn events_go_where_their_rows_go(steps in steps()) {
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
        let times = |it: &Profile| told(it).into_iter().map(|it| (it.0, it.2)).collect::<Vec<_>>();
        prop_assert_eq!(times(&changes[0]), times(&profile));
        prop_assert_eq!(times(&changes[2]), times(&profile));
    }

    #[test]
    fn of_two_profiles_the_later_ones_events_come_later(one in steps(), other in steps(), apart in 0..20_000_u64) {
        let both = Measures { cpu: true, wall: true, ..Measures::NONE };
        let [[_, mut one], [_, mut other]] = [one, other].map(|it| record(both, LabelSet::EMPTY, &it));
        (one.meta.started_at_ns, other.meta.started_at_ns) = (5_000, 5_000 + apart);
        let merged = merge(&[&one, &other]);
        prop_assert_eq!(sums(&merged), rows(&merged));
        let mut expected = told(&one);
        expected.extend(told(&other).into_iter().map(|(time, row, weights)| (time + apart, row, weights)));
        expected.sort_by_key(|it| it.0);
        prop_assert_eq!(told(&merged), expected);
        prop_assert_eq!(told(&merge(&[&other, &one])).len(), told(&merged).len());
    }
}

#[test]
fn who_did_not_ask_has_none() {
    let world = World::new();
    let session = world.hub.open(SessionSpec::default(), &world.registry, 0, &world.all_now());
    let closed = world.hub.close(session, &world.registry, &world.lives()).unwrap();
    let profile = world.profile(closed);
    assert_eq!(profile.timeline, None);
    assert_eq!(written_and_read(&profile).timeline, None);
}

#[test]
fn a_merge_with_a_profile_that_has_none_says_so() {
    let step = Step::Record { thread: 0, took: [5, 0, 0, 0], kind: Some(Kind::Tick), stack: 1 };
    let [_, timed] = record(Measures::default(), LabelSet::EMPTY, &[step]);
    let untimed = Profile { timeline: None, ..timed.clone() };
    let merged = merge(&[&untimed, &timed]);
    assert_eq!(told(&merged), told(&timed));
    assert!(merged.meta.sentences().contains(&"measured in some of the profiles only: timeline".to_owned()));
}
