//! From raw records to a profile, with a table in place of the VM.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, missing_docs)]

use std::sync::Mutex;

use profiler_core::collector::{collect, Command};
use profiler_core::hub::{Hub, SessionId, ThreadLife, ThreadRegistry};
use profiler_core::ids::{LabelSetId, ScopeId, ThreadId};
use profiler_core::profile::{Function, Profile, SampleType, Thread};
use profiler_core::sample::{push, Stamp, State, Walk};

#[derive(Default)]
struct Ended(Mutex<Vec<ThreadLife>>);

impl ThreadRegistry for Ended {
    fn take_ended(&self, into: &mut Vec<ThreadLife>) {
        into.append(&mut self.0.lock().unwrap());
    }
}

fn life(thread: u32, born_cpu_ns: u64, cpu_ns: u64, name: &str) -> ThreadLife {
    let info = Thread { native_id: u64::from(thread), name: name.into() };
    ThreadLife { thread: ThreadId(thread), born_cpu_ns, cpu_ns, info }
}

/// As an address that the VM could give, and back.
fn handle(number: u64) -> u64 {
    0x7f00_0000_0000 | number << 16
}

fn number(handle: u64) -> u64 {
    handle >> 16 & 0xffff
}

fn record(hub: &Hub, thread: u32, state: State, cpu_ns: u64, handles: &[u64]) {
    let stamp = Stamp {
        thread: ThreadId(thread),
        state,
        labels: LabelSetId::NONE,
        scope: ScopeId::NONE,
        cpu_ns,
        monotonic_ns: cpu_ns,
        born_cpu_ns: 100,
    };
    let handles: Vec<u64> = handles.iter().map(|number| handle(*number)).collect();
    let lines = vec![7; handles.len()];
    push(&hub.ring, &stamp, Walk { handles: &handles, lines: &lines, rootless: false }, 2048).unwrap();
}

fn function(handle: u64) -> Function {
    let number = number(handle);
    Function {
        // Two handles of one method: it was defined again while we looked.
        name: format!("Foo#m{}", if number == 24 { 16 } else { number }),
        class_name: "Foo".into(),
        method_name: String::new(),
        path: "/foo.rb".into(),
        first_line: 1,
    }
}

fn finish(hub: &Hub, session: SessionId, registry: &Ended, alive: &[ThreadLife]) -> Profile {
    let closed = hub.close(session, registry, alive).unwrap();
    let names = closed.unknown.iter().map(|handle| (*handle, function(*handle))).collect();
    hub.finish(closed, names)
}

/// `thread: root;..;leaf` and CPU time of each row, sorted.
fn rows(profile: &Profile) -> Vec<(String, u64)> {
    let name = |frame: profiler_core::profile::Frame| profile.function(frame.function).unwrap().name.clone();
    let mut rows: Vec<_> = profile
        .samples
        .iter()
        .map(|sample| {
            let mut frames: Vec<String> = profile.frames_of(sample.stack).map(name).collect();
            frames.reverse();
            let thread = &profile.threads[sample.thread].name;
            (format!("{thread}: {}", frames.join(";")), sample.weights.get(SampleType::Cpu))
        })
        .collect();
    rows.sort();
    rows
}

#[test]
fn records_become_rows_and_every_nanosecond_has_one() {
    let (hub, registry) = (Hub::new(4096), Ended::default());
    let session = hub.open(0, [(ThreadId(1), 1_000)]);
    record(&hub, 1, State::Running, 1_300, &[32, 16]);
    record(&hub, 2, State::Running, 150, &[40]);
    record(&hub, 1, State::Running, 1_400, &[32, 24]); // the same method, another handle
    record(&hub, 1, State::Gc, 1_450, &[]);
    registry.0.lock().unwrap().push(life(2, 100, 170, "two"));
    registry.0.lock().unwrap().push(life(3, 100, 101, "three"));
    // The last one lives, was born in the session, and was never sampled.
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
fn what_was_dropped_is_carried_by_the_next_record() {
    let (hub, registry) = (Hub::new(32), Ended::default());
    let session = hub.open(0, [(ThreadId(1), 0)]);
    record(&hub, 1, State::Running, 10, &[16]);
    while hub.ring.try_push(1, |_| {}).is_ok() {}
    let stamp_at = |cpu_ns| Stamp {
        thread: ThreadId(1),
        state: State::Running,
        labels: LabelSetId::NONE,
        scope: ScopeId::NONE,
        cpu_ns,
        monotonic_ns: cpu_ns,
        born_cpu_ns: 0,
    };
    let walk = Walk { handles: &[handle(32)], lines: &[1], rootless: false };
    assert!(push(&hub.ring, &stamp_at(20), walk, 2048).is_err(), "full");
    while hub.drain_batch(&registry) {}
    push(&hub.ring, &stamp_at(30), walk, 2048).unwrap();
    let profile = finish(&hub, session, &registry, &[life(1, 0, 30, "one")]);
    assert_eq!(rows(&profile), [("one: Foo#m16".to_owned(), 10), ("one: Foo#m32".to_owned(), 20)]);
}

#[test]
fn sessions_overlap_and_each_counts_its_own_span() {
    let (hub, registry) = (Hub::new(4096), Ended::default());
    let first = hub.open(0, [(ThreadId(1), 0)]);
    record(&hub, 1, State::Running, 10, &[16]);
    while hub.drain_batch(&registry) {}
    let second = hub.open(11, [(ThreadId(1), 11)]);
    record(&hub, 1, State::Running, 20, &[32]);
    let whole = finish(&hub, first, &registry, &[life(1, 0, 25, "one")]);
    record(&hub, 1, State::Running, 40, &[16]);
    let late = finish(&hub, second, &registry, &[life(1, 0, 41, "one")]);
    assert_eq!(rows(&whole), [("one: Foo#m16".to_owned(), 10), ("one: Foo#m32".to_owned(), 15)]);
    assert_eq!(rows(&late), [("one: Foo#m16".to_owned(), 21), ("one: Foo#m32".to_owned(), 9)]);
}

#[test]
fn handles_are_live_from_the_ring_to_the_last_name() {
    let (hub, registry) = (Hub::new(4096), Ended::default());
    let live = |hub: &Hub| {
        let mut handles = Vec::new();
        hub.each_live_handle(|handle| handles.push(number(handle)));
        handles.sort_unstable();
        handles.dedup();
        handles
    };
    let session = hub.open(0, []);
    record(&hub, 1, State::Running, 110, &[16, 24]);
    assert_eq!(live(&hub), [16, 24], "in the ring");
    while hub.drain_batch(&registry) {}
    record(&hub, 1, State::Running, 120, &[40]);
    assert_eq!(live(&hub), [16, 24, 40], "in the table and in the ring");
    let closed = hub.close(session, &registry, &[]).unwrap();
    assert_eq!(live(&hub), [16, 24, 40], "closed, but not yet named");
    let names = closed.unknown.iter().map(|handle| (*handle, function(*handle))).collect();
    let _ = hub.finish(closed, names);
    assert_eq!(live(&hub), [] as [u64; 0]);

    let discarded = hub.open(0, []);
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
    let stamp = Stamp {
        thread: ThreadId(1),
        state: State::Running,
        labels: LabelSetId::NONE,
        scope: ScopeId::NONE,
        cpu_ns: 5,
        monotonic_ns: 5,
        born_cpu_ns: 0,
    };
    for (rootless, depth, frames, cut_at) in
        [(false, 300, 300, None), (false, 129, 129, Some(64)), (true, 128, 128, Some(127))]
    {
        let session = hub.open(0, [(ThreadId(1), 0)]);
        push(&hub.ring, &stamp, Walk { handles: &handles, lines: &lines, rootless }, depth).unwrap();
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
fn the_collector_thread_drains_until_its_commands_end() {
    let hub = Box::leak(Box::new(Hub::new(4096)));
    let (sender, receiver) = crossbeam_channel::unbounded();
    let hub: &'static Hub = hub;
    let thread = std::thread::spawn(move || collect(hub, &Ended::default(), &receiver, &|| {}));
    let session = hub.open(0, [(ThreadId(1), 0)]);
    sender.send(Command::Run).unwrap();
    record(hub, 1, State::Running, 10, &[16]);
    while hub.fill() > 0 {
        std::thread::yield_now();
    }
    sender.send(Command::Rest).unwrap();
    drop(sender);
    thread.join().unwrap();
    assert_eq!(rows(&finish(hub, session, &Ended::default(), &[life(1, 0, 10, "one")])).len(), 1);
}
