//! Producers that lose their CPU in the middle of a record.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use profiler_core::pipeline::hub::Hub;
use profiler_core::profile::SampleType;
use profiler_core::record::State;
use profiler_core::session::spec::SessionSpec;

use crate::world::*;

/// Runs `test` while another thread has claimed space in the ring, and writes nothing there until it receives something or the
/// sender is gone.
fn beside_a_slow_producer(hub: &Hub, test: impl FnOnce(mpsc::Sender<()>)) {
    let ((claimed, is_claimed), (go_on, may_go_on)) = (mpsc::channel(), mpsc::channel());
    thread::scope(|scope| {
        scope.spawn(move || {
            let pushed = hub.ring.try_push(1, |_| {
                claimed.send(()).unwrap();
                let _ = may_go_on.recv();
            });
            assert!(pushed.is_ok());
        });
        is_claimed.recv().unwrap();
        test(go_on);
    });
}

#[test]
fn a_session_has_what_is_behind_a_record_that_is_late() {
    let (hub, registry) = (Hub::new(4096), Ended::default());
    let session = hub.open(SessionSpec::default(), &registry, 0, &[now(1, 0)]);
    let mut profile = None;
    beside_a_slow_producer(&hub, |go_on| {
        record(&hub, 1, State::Running, 10, &[16]);
        thread::scope(|scope| {
            scope.spawn(move || {
                thread::sleep(Duration::from_millis(20));
                drop(go_on);
            });
            profile = Some(finish(&hub, session, &registry, &[life(1, 0, 10, "one")]));
        });
    });
    let profile = profile.unwrap();
    assert_eq!(rows(&profile), [("one: Foo#m16".to_owned(), 10)]);
    assert_eq!(profile.total().get(SampleType::Samples), 1);
}

#[test]
fn a_thread_that_ended_is_finished_after_its_last_record() {
    let (hub, registry) = (Hub::new(4096), Ended::default());
    let session = hub.open(SessionSpec::default(), &registry, 0, &[]);
    beside_a_slow_producer(&hub, |go_on| {
        record(&hub, 2, State::Running, 150, &[16]);
        registry.0.lock().unwrap().push(life(2, 100, 170, "two"));
        assert!(!hub.drain_batch(&registry), "nothing can be read");
        drop(go_on);
    });
    let profile = finish(&hub, session, &registry, &[]);
    assert_eq!(rows(&profile), [("two: Foo#m16".to_owned(), 70)]);
}

#[test]
fn a_record_that_never_comes_holds_nobody_up_twice() {
    let (hub, registry) = (Hub::new(4096), Ended::default());
    beside_a_slow_producer(&hub, |_go_on| {
        let mut took = Vec::new();
        for _ in 0..6 {
            let begun = Instant::now();
            let session = hub.open(SessionSpec::default(), &registry, 0, &[now(1, 0)]);
            let profile = finish(&hub, session, &registry, &[life(1, 0, 10, "one")]);
            assert_eq!(rows(&profile), [("one: (unsampled)".to_owned(), 10)]);
            took.push(begun.elapsed());
        }
        assert!(took[1..].iter().any(|it| *it < took[0] / 2), "{took:?}");
    });
}

#[test]
fn a_record_that_never_comes_costs_those_that_find_no_space_and_no_thread() {
    let (hub, registry) = (Hub::new(64), Ended::default());
    beside_a_slow_producer(&hub, |_go_on| {
        let push = || hub.push_draining(&registry, || hub.ring.try_push(7, |_| {}));
        assert_eq!((0..12).filter(|_| push()).count(), 7, "as many as fit behind it");
        assert_eq!(hub.counters.read().dropped_full, 5);
    });
    // It came after all, so there is space again.
    assert!(hub.push_draining(&registry, || hub.ring.try_push(7, |_| {})));
}
