//! From raw records to a profile, with a table in place of the VM.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, missing_docs)]

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use profiler_core::ids::{ScopeId, ThreadId};
use profiler_core::pipeline::collector::Collector;
use profiler_core::pipeline::hub::Hub;
use profiler_core::profile::SampleType;
use profiler_core::record::{push, push_label_switch, Header, Kind, State, Walk};
use profiler_core::result::taken::Take;
use profiler_core::session::spec::SessionSpec;

mod ended_threads;
mod fibers;
mod generations;
mod rotation;
mod slow_producers;
mod spans;
mod world;
use world::*;

#[test]
fn every_nanosecond_is_attributed_to_one_row() {
    let (hub, registry) = (Hub::new(4096), Ended::default());
    let session = hub.open(SessionSpec::default(), &registry, 0, &[now(1, 1_000)]);
    record(&hub, 1, State::Running, 1_300, &[32, 16]);
    record(&hub, 2, State::Running, 150, &[40]);
    record(&hub, 1, State::Running, 1_400, &[32, 24]); // the same method, another handle
    record(&hub, 1, State::Gc, 1_450, &[]);
    registry.0.lock().unwrap().push(life(2, 100, 170, "two"));
    registry.0.lock().unwrap().push(life(3, 100, 101, "three"));
    // The last thread still runs, was started in the session, and was never sampled.
    let alive = [life(1, 1_000, 1_500, "one"), life(4, 50, 90, "four")];
    let profile = finish(&hub, session, &registry, &alive);

    let expected = [
        ("four: (unsampled)", 40),
        ("one: (garbage collection)", 100), // its own 50 and the rest of the thread
        ("one: Foo#m16;Foo#m32", 400),
        ("three: (unsampled)", 1),
        ("two: Foo#m40", 70),
    ];
    assert_eq!(rows(&profile), expected.map(|(row, cpu)| (row.to_owned(), cpu)));
    assert_eq!(profile.total().get(SampleType::Samples), 4);
}

#[test]
fn the_next_record_carries_dropped_time() {
    let (hub, registry) = (Hub::new(32), Ended::default());
    let session = hub.open(SessionSpec::default(), &registry, 0, &[now(1, 0)]);
    record(&hub, 1, State::Running, 10, &[16]);
    while hub.ring.try_push(1, |_| {}).is_ok() {}
    let header_at = |cpu_ns| Header { cpu_ns, ..Header::new(ThreadId(1), cpu_ns) };
    let walk = Walk { handles: &[handle(32)], lines: &[1], rootless: false };
    assert!(push(&hub.ring, Kind::Tick, &header_at(20), walk, 2048).is_err(), "full");
    while hub.drain_batch(&registry) {}
    push(&hub.ring, Kind::Tick, &header_at(30), walk, 2048).unwrap();
    let profile = finish(&hub, session, &registry, &[life(1, 0, 30, "one")]);
    assert_eq!(rows(&profile), [("one: Foo#m16".to_owned(), 10), ("one: Foo#m32".to_owned(), 20)]);
}

#[test]
fn overlapping_sessions_count_their_own_span() {
    let (hub, registry) = (Hub::new(4096), Ended::default());
    let first = hub.open(SessionSpec::default(), &registry, 0, &[now(1, 0)]);
    record(&hub, 1, State::Running, 10, &[16]);
    while hub.drain_batch(&registry) {}
    let second = hub.open(SessionSpec::default(), &registry, 11, &[now(1, 11)]);
    record(&hub, 1, State::Running, 20, &[32]);
    let whole = finish(&hub, first, &registry, &[life(1, 0, 25, "one")]);
    record(&hub, 1, State::Running, 40, &[16]);
    let late = finish(&hub, second, &registry, &[life(1, 0, 41, "one")]);
    assert_eq!(rows(&whole), [("one: Foo#m16".to_owned(), 10), ("one: Foo#m32".to_owned(), 15)]);
    assert_eq!(rows(&late), [("one: Foo#m16".to_owned(), 21), ("one: Foo#m32".to_owned(), 9)]);
}

#[test]
fn handles_stay_live_until_they_are_resolved() {
    let (hub, registry) = (Hub::new(4096), Ended::default());
    let live = |hub: &Hub| {
        let mut handles = Vec::new();
        hub.each_live_handle(|handle| handles.push(number(handle)));
        handles.sort_unstable();
        handles.dedup();
        handles
    };
    let session = hub.open(SessionSpec::default(), &registry, 0, &[]);
    record(&hub, 1, State::Running, 110, &[16, 24]);
    assert_eq!(live(&hub), [16, 24], "in the ring");
    while hub.drain_batch(&registry) {}
    record(&hub, 1, State::Running, 120, &[40]);
    assert_eq!(live(&hub), [16, 24, 40], "in the table and in the ring");
    let closed = hub.take(session, &registry, &[], Take::Close, 0).unwrap();
    assert_eq!(live(&hub), [16, 24, 40], "closed, but not yet named");
    let closed = copied(&hub, closed);
    assert_eq!(live(&hub), [16, 24, 40], "copied, but not yet named");
    let _ = resolved(&hub, closed);
    assert_eq!(live(&hub), [] as [u64; 0]);

    let discarded = hub.open(SessionSpec::default(), &registry, 0, &[]);
    record(&hub, 1, State::Running, 130, &[48]);
    while hub.drain_batch(&registry) {}
    hub.discard(discarded);
    assert_eq!(live(&hub), [] as [u64; 0], "a session thrown away holds nothing");
}

#[test]
fn deep_stacks_keep_both_ends() {
    let (hub, registry) = (Hub::new(1 << 15), Ended::default());
    let handles: Vec<u64> = (1..=300).map(|frame| handle(frame * 8)).collect();
    let lines = vec![1; 300];
    let header = Header { cpu_ns: 5, ..Header::new(ThreadId(1), 5) };
    for (rootless, depth, frames, cut_at) in
        [(false, 300, 300, None), (false, 129, 129, Some(64)), (true, 128, 128, Some(127))]
    {
        let session = hub.open(SessionSpec::default(), &registry, 0, &[now(1, 0)]);
        push(&hub.ring, Kind::Tick, &header, Walk { handles: &handles, lines: &lines, rootless }, depth)
            .unwrap();
        let profile = finish(&hub, session, &registry, &[]);
        let names: Vec<String> = profile
            .frames_of(profile.samples[0].stack)
            .map(|frame| profile.function(frame.function).unwrap().name.clone())
            .collect();
        assert_eq!(names.len(), frames);
        assert_eq!(names.iter().position(|name| name == "(truncated)"), cut_at);
        assert_eq!(names[0], "Foo#m8", "the leaf is there");
        assert_eq!(names.last().unwrap() == "Foo#m2400", !rootless, "and so is the root, where it was seen");
    }
}

#[test]
fn the_collector_drains_rests_and_wakes_until_dropped() {
    let hub: &'static Hub = Box::leak(Box::new(Hub::new(4096)));
    let mut thread = None;
    let collector = Collector::start(|worker| {
        let body = move || worker.work(hub, &Ended::default(), &|| std::time::Duration::MAX);
        let it = thread.insert(std::thread::spawn(body));
        Ok::<_, ()>(it.thread().clone())
    })
    .unwrap();
    let session = hub.open(SessionSpec::default(), &Ended::default(), 0, &[now(1, 0)]);
    for turn in 1..=3 {
        collector.run();
        record(hub, 1, State::Running, turn * 10, &[16]);
        while hub.fill() > 0 {
            std::thread::yield_now();
        }
        collector.rest();
        std::thread::sleep(std::time::Duration::from_millis(20)); // long enough to lie down, sometimes
    }
    drop(collector);
    thread.unwrap().join().unwrap();
    assert_eq!(rows(&finish(hub, session, &Ended::default(), &[life(1, 0, 30, "one")])).len(), 1);
}

#[test]
fn the_collector_sleeps_until_there_are_enough_records() {
    let hub: &'static Hub = Box::leak(Box::new(Hub::new(1 << 14)));
    let collector = Collector::start(|worker| {
        let body = move || worker.work(hub, &Ended::default(), &|| Duration::MAX);
        Ok::<_, ()>(std::thread::spawn(body).thread().clone())
    })
    .unwrap();
    let session = hub.open(SessionSpec::default(), &Ended::default(), 0, &[now(1, 0)]);
    collector.run();
    let wait_until = |is_so: &dyn Fn() -> bool| {
        let begun = Instant::now();
        while !is_so() {
            assert!(begun.elapsed() < Duration::from_secs(10));
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    wait_until(&|| hub.collector_sleeps.load(Ordering::Relaxed));
    record(hub, 1, State::Running, 10, &[16]);
    std::thread::sleep(Duration::from_millis(300)); // longer than its longest pause otherwise
    assert!(hub.fill() > 0 && !hub.has_enough_for_collector());
    let mut cpu_ns = 10;
    while !hub.has_enough_for_collector() {
        cpu_ns += 10;
        record(hub, 1, State::Running, cpu_ns, &[16]);
    }
    hub.collector_sleeps.store(false, Ordering::Relaxed);
    collector.thread().unpark();
    wait_until(&|| hub.fill() == 0);
    let profile = finish(hub, session, &Ended::default(), &[life(1, 0, cpu_ns, "one")]);
    assert_eq!(profile.total().get(SampleType::Cpu), cpu_ns);
}

#[test]
fn a_session_with_labels_has_exactly_the_time_under_them() {
    let (hub, registry) = (Hub::new(4096), Ended::default());
    let of = |endpoint| hub.intern_labels(&labels(endpoint), 0).1;
    let header = |labels, cpu_ns| Header { labels, cpu_ns, ..Header::new(ThreadId(1), cpu_ns) };
    let tick = |labels, cpu_ns| {
        let walk = Walk { handles: &[handle(16)], lines: &[1], rootless: false };
        push(&hub.ring, Kind::Tick, &header(labels, cpu_ns), walk, 2048).unwrap();
    };
    let all = hub.open(SessionSpec::default(), &registry, 0, &[now(1, 0)]);
    let spec = SessionSpec { labels: labels("a"), ..SessionSpec::default() };
    let only_a = hub.open(spec, &registry, 0, &[now(1, 0)]);
    for (endpoint, at) in [("a", 100), ("b", 200), ("a", 300), ("b", 400)] {
        push_label_switch(&hub.ring, &header(of(endpoint), at)).unwrap();
        tick(of(endpoint), at + 40);
    }
    let alive = [life(1, 0, 1_000, "one")];
    let (of_a, of_all) = (finish(&hub, only_a, &registry, &alive), finish(&hub, all, &registry, &alive));
    assert_eq!(of_a.total().get(SampleType::Cpu), 200, "from switch to switch, not from tick to tick");
    assert!(of_a.samples.iter().all(|it| it.labels == [("endpoint".to_owned(), "a".to_owned())]));
    assert_eq!(of_all.total().get(SampleType::Cpu), 1_000);
    assert_eq!(of_all.samples.len(), 2, "a row for each set of labels");
}

#[test]
fn a_session_with_a_scope_has_exactly_the_time_inside_it() {
    let (hub, registry) = (Hub::new(4096), Ended::default());
    let header = |thread, scope, cpu_ns| Header {
        scope: ScopeId(scope),
        cpu_ns,
        ..Header::new(ThreadId(thread), cpu_ns)
    };
    let spec = |scope| SessionSpec { scope: Some(ScopeId(scope)), ..SessionSpec::default() };
    let sessions = [1, 2].map(|scope| hub.open(spec(scope), &registry, 0, &[now(1, 0)]));
    // Thread 1 takes turns between two requests; the body of the second is sent by thread 2, which was not
    // announced.
    for (thread, scope, at) in [(1, 1, 100), (1, 2, 200), (1, 1, 300), (2, 2, 350), (1, 0, 400), (2, 0, 420)]
    {
        push_label_switch(&hub.ring, &header(thread, scope, at)).unwrap();
        let walk = Walk { handles: &[handle([48, 16, 32][scope as usize])], lines: &[1], rootless: false };
        push(&hub.ring, Kind::Tick, &header(thread, scope, at + 10), walk, 2048).unwrap();
    }
    let alive = [life(1, 0, 1_000, "one"), life(2, 0, 1_000, "two")];
    let [first, second] = sessions.map(|session| rows(&finish(&hub, session, &registry, &alive)));
    assert_eq!(first, [("one: Foo#m16".to_owned(), 200)]);
    assert_eq!(second, [("one: Foo#m32".to_owned(), 100), ("two: Foo#m32".to_owned(), 70)]);
    assert_eq!(hub.labels_refused(), 0);
}

#[test]
fn excludes_threads_that_ended_before_the_session() {
    let (hub, registry) = (Hub::new(4096), Ended::default());
    let first = hub.open(SessionSpec::default(), &registry, 0, &[now(1, 0)]);
    registry.0.lock().unwrap().push(life(1, 0, 50, "one"));
    let second = hub.open(SessionSpec::default(), &registry, 10, &[]);
    let sum = |session| finish(&hub, session, &registry, &[]).total().get(SampleType::Cpu);
    assert_eq!([sum(first), sum(second)], [50, 0]);
}

#[test]
fn sessions_select_threads_pause_and_take_snapshots() {
    let (hub, registry) = (Hub::new(4096), Ended::default());
    let spec = SessionSpec { threads: Some(vec![ThreadId(2)]), ..SessionSpec::default() };
    let one = hub.open(spec, &registry, 0, &[now(1, 0), now(2, 0)]);
    record(&hub, 1, State::Running, 10, &[16]);
    record(&hub, 2, State::Running, 10, &[16]);
    let closed = hub.take(one, &registry, &[life(2, 0, 15, "two")], Take::Snapshot, 0).unwrap();
    assert_eq!(rows(&named(&hub, closed)), [("two: Foo#m16".to_owned(), 15)]);

    hub.pause(one, &registry, &[life(2, 0, 20, "two")]);
    record(&hub, 2, State::Running, 30, &[32]);
    hub.resume(one, &registry, 31, &[now(2, 35)]);
    record(&hub, 2, State::Running, 40, &[32]);
    let whole = finish(&hub, one, &registry, &[life(1, 0, 99, "one"), life(2, 0, 40, "two")]);
    assert_eq!(rows(&whole), [("two: Foo#m16".to_owned(), 20), ("two: Foo#m32".to_owned(), 5)]);
}

#[test]
fn a_forked_child_continues_sessions_without_double_counting() {
    let (hub, registry) = (Hub::new(64), Ended::default());
    let all = hub.open(SessionSpec::default(), &registry, 0, &[now(1, 0)]);
    let other = hub.open(
        SessionSpec { threads: Some(vec![ThreadId(1)]), ..SessionSpec::default() },
        &registry,
        0,
        &[now(1, 0)],
    );
    let forker = hub.open(
        SessionSpec { threads: Some(vec![ThreadId(2)]), ..SessionSpec::default() },
        &registry,
        0,
        &[now(2, 0)],
    );
    let orphan = hub.open(SessionSpec::default(), &registry, 0, &[now(1, 0)]);
    record(&hub, 1, State::Running, 10, &[16]);
    hub.before_fork().start_over(100, &[orphan], Some(ThreadId(2)), Some(now(3, 0)));
    assert_eq!(hub.fill(), 0);
    record(&hub, 3, State::Running, 107, &[32]); // started at 100 by its header, but inside since its clock stood at 0
    let alive = [life(3, 100, 110, "child")];
    let sum = |session| finish(&hub, session, &registry, &alive).total().get(SampleType::Cpu);
    assert_eq!([sum(all), sum(other), sum(forker)], [110, 0, 110]);
    assert!(hub.take(orphan, &registry, &alive, Take::Close, 0).is_none());
}
