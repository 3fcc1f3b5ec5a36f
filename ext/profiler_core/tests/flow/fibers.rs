//! The fiber that a sample is of, for sessions that request it.

use profiler_core::ids::ThreadId;
use profiler_core::pipeline::hub::Hub;
use profiler_core::profile::{Sample, SampleType};
use profiler_core::record::{push, push_gvl_wait, Header, Kind, State, Walk, WallTimes};
use profiler_core::session::spec::{Measures, SessionSpec};

use super::world::*;

#[test]
fn only_requesting_sessions_distinguish_fibers() {
    let (hub, registry) = (Hub::new(4096), Ended::default());
    let measures = Measures { wall: true, ..Measures::default() };
    let spec = |fibers| SessionSpec { measures, fibers, ..SessionSpec::default() };
    let sessions = [true, false].map(|fibers| hub.open(spec(fibers), &registry, 0, &[now(1, 0)]));
    let of = |fiber| hub.intern_labels(&labels("a"), fiber).1;
    for (fiber, at) in [(1, 100), (2, 200)] {
        let header = Header {
            state: State::Waiting,
            labels: of(fiber),
            walls: WallTimes { gvl_ns: at, ..WallTimes::default() },
            ..Header::new(ThreadId(1), at)
        };
        let walk = Walk { handles: &[handle(16)], lines: &[1], rootless: false };
        push(&hub.ring, Kind::Wait, &header, walk, 2048).unwrap();
        // The thread that had the GVL meanwhile has fibers as well.
        let (thread, labels, monotonic_ns) = (ThreadId(2), of(fiber + 2), at - 50);
        let holder = Header { thread, labels, monotonic_ns, state: State::Running, ..header };
        push(&hub.ring, Kind::Tick, &holder, walk, 2048).unwrap();
        push_gvl_wait(&hub.ring, &header, at - 100).unwrap();
    }
    let [numbered, plain] = sessions.map(|session| {
        let profile = finish(&hub, session, &registry, &[]);
        // The tick of the thread with the GVL has a row of its own, in addition to those of blame.
        let has = |it: &Sample, of| it.weights.get(of) > 0;
        let blamed = profile.samples.iter();
        let blamed = blamed.filter(|it| has(it, SampleType::GvlWait) || has(it, SampleType::GvlBlame));
        let labels = blamed.flat_map(|it| it.labels.clone()).filter(|(name, _)| name == "fiber");
        let mut numbers: Vec<String> = labels.map(|(_, number)| number).collect();
        numbers.sort();
        numbers
    });
    assert_eq!(numbered, ["1", "2", "3", "4"]);
    assert!(plain.is_empty(), "{plain:?}");
}
