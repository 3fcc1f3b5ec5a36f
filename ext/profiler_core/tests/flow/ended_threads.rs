//! Sessions that outlive many threads.

use std::collections::BTreeMap;

use profiler_core::pipeline::hub::Hub;
use profiler_core::profile::SampleType;
use profiler_core::record::State;
use profiler_core::result::taken::Take;
use profiler_core::session::spec::SessionSpec;

use crate::world::*;

#[test]
fn threads_that_ended_long_ago_are_one_for_each_name() {
    let (hub, registry) = (Hub::new(1 << 15), Ended::default());
    let session = hub.open(SessionSpec::default(), &registry, 0, &[now(1, 0)]);
    record(&hub, 1, State::Running, 10, &[16]);
    let name = |thread: u32| ["", "worker"][thread as usize % 2];
    let mut expected: BTreeMap<&str, u64> = BTreeMap::new();
    for thread in 2..3_000 {
        let cpu_ns = u64::from(thread % 50) + 1;
        record(&hub, thread, State::Running, 100 + cpu_ns / 2, &[u64::from(thread % 3) * 16 + 16]);
        *expected.entry(name(thread)).or_default() += cpu_ns;
        registry.0.lock().unwrap().push(life(thread, 100, 100 + cpu_ns, name(thread)));
        while hub.drain_batch(&registry) {}
    }
    let profile = finish(&hub, session, &registry, &[life(1, 0, 25, "main")]);
    assert!(profile.threads.len() < 520, "{} threads", profile.threads.len());
    assert!(profile.samples.len() < 2_000, "{} rows", profile.samples.len());
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for sample in &profile.samples {
        let name = profile.threads[sample.thread].name.clone();
        *sums.entry(name).or_default() += sample.weights.get(SampleType::Cpu);
    }
    assert_eq!(sums["main"], 25, "a thread that lives is itself");
    assert_eq!(sums["worker"] + sums["worker (ended)"], expected["worker"]);
    assert_eq!(sums[""] + sums["(ended threads)"], expected[""]);
    assert_eq!(profile.total().get(SampleType::Samples), 2_999);
}

#[test]
fn a_timeline_keeps_the_threads_of_its_events() {
    let (hub, registry) = (Hub::new(1 << 15), Ended::default());
    let spec = SessionSpec { timeline: true, ..SessionSpec::default() };
    let session = hub.open(spec, &registry, 0, &[]);
    for thread in 1..=1_000 {
        record(&hub, thread, State::Running, 107, &[16]);
        registry.0.lock().unwrap().push(life(thread, 100, 107, "worker"));
        while hub.drain_batch(&registry) {}
    }
    let profile = finish(&hub, session, &registry, &[]);
    assert_eq!(profile.threads.len(), 1_000);
    assert_eq!(profile.timeline.unwrap().len(), 1_000);
}

#[test]
fn threads_that_ended_are_folded_when_their_events_are_given() {
    let (hub, registry) = (Hub::new(1 << 15), Ended::default());
    let spec = SessionSpec { timeline: true, ..SessionSpec::default() };
    let session = hub.open(spec, &registry, 0, &[]);
    let mut most = 0;
    for round in 0..20_u32 {
        for thread in round * 100 + 1..=round * 100 + 100 {
            record(&hub, thread, State::Running, 107, &[16]);
            registry.0.lock().unwrap().push(life(thread, 100, 107, "worker"));
            while hub.drain_batch(&registry) {}
        }
        let taken = hub.take(session, &registry, &[], Take::Rotate, u64::from(round)).unwrap();
        let profile = named(&hub, taken);
        assert_eq!(profile.total().get(SampleType::Cpu), 700);
        most = most.max(hub.ended_threads());
    }
    assert!(most < 600, "{most} of 2,000 threads are kept");
}
