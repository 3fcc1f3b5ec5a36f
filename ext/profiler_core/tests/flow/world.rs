//! A machine with threads and sessions, without a VM.

use std::sync::Mutex;

use profiler_core::ids::{LabelSetId, ThreadId};
use profiler_core::pipeline::hub::Hub;
use profiler_core::pipeline::registry::{ThreadLife, ThreadRegistry};
use profiler_core::pipeline::SessionId;
use profiler_core::profile::LabelSet;
use profiler_core::profile::{Function, Profile, SampleType, Thread};
use profiler_core::record::detail::GcCause;
use profiler_core::record::{push, Header, Kind, State, Walk};
use profiler_core::result::taken::{Take, Taken, Unresolved};

#[derive(Default)]
pub(crate) struct Ended(pub(crate) Mutex<Vec<ThreadLife>>);

impl ThreadRegistry for Ended {
    fn take_ended(&self, into: &mut Vec<ThreadLife>) {
        into.append(&mut self.0.lock().unwrap());
    }
}

pub(crate) fn life(thread: u32, start_cpu_ns: u64, cpu_ns: u64, name: &str) -> ThreadLife {
    let info = Thread { native_id: u64::from(thread), name: name.into() };
    let last = Header { start_cpu_ns, cpu_ns, ..Header::new(ThreadId(thread), cpu_ns) };
    ThreadLife { last, info }
}

pub(crate) fn now(thread: u32, cpu_ns: u64) -> Header {
    Header { cpu_ns, ..Header::new(ThreadId(thread), 0) }
}

/// As an address that the VM could return, and back.
pub(crate) fn handle(number: u64) -> u64 {
    0x7f00_0000_0000 | number << 16
}

pub(crate) fn number(handle: u64) -> u64 {
    handle >> 16 & 0xffff
}

pub(crate) fn record(hub: &Hub, thread: u32, state: State, cpu_ns: u64, handles: &[u64]) {
    record_labelled(hub, thread, state, cpu_ns, handles, LabelSetId::NONE);
}

pub(crate) fn record_labelled(
    hub: &Hub,
    thread: u32,
    state: State,
    cpu_ns: u64,
    handles: &[u64],
    labels: LabelSetId,
) {
    let header = Header { state, labels, cpu_ns, start_cpu_ns: 100, ..Header::new(ThreadId(thread), cpu_ns) };
    let handles: Vec<u64> = handles.iter().map(|number| handle(*number)).collect();
    let lines = vec![7; handles.len()];
    let kind = if state == State::Gc {
        Kind::Gc { ticked: true, since_tick_ns: 0, cause: GcCause::minor(0) }
    } else {
        Kind::Tick
    };
    push(&hub.ring, kind, &header, Walk { handles: &handles, lines: &lines, rootless: false }, 2048).unwrap();
}

pub(crate) fn function(handle: u64) -> Function {
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

pub(crate) fn finish(hub: &Hub, session: SessionId, registry: &Ended, alive: &[ThreadLife]) -> Profile {
    named(hub, hub.take(session, registry, alive, Take::Close, 0).unwrap())
}

/// The profile of a result, as who requests one gets it.
pub(crate) fn named(hub: &Hub, result: Taken) -> Profile {
    let copied = copied(hub, result);
    resolved(hub, copied)
}

pub(crate) fn copied(hub: &Hub, result: Taken) -> Unresolved {
    let copied = hub.copy(result);
    if hub.is_outgrown(copied.needed) {
        hub.freeze_generation();
    }
    copied
}

pub(crate) fn resolved(hub: &Hub, copied: Unresolved) -> Profile {
    let names = copied.unknown.iter().map(|handle| (*handle, function(*handle))).collect();
    hub.resolve(copied, names)
}

/// `thread: root;..;leaf` and CPU time of each row, sorted.
pub(crate) fn rows(profile: &Profile) -> Vec<(String, u64)> {
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

pub(crate) fn labels(endpoint: &str) -> LabelSet {
    LabelSet::EMPTY.with([("endpoint".to_owned(), Some(endpoint.to_owned()))])
}
