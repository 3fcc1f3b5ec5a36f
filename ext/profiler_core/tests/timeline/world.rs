//! A world of threads that do random things, and what a session has of it.

use std::sync::Mutex;

use profiler_core::format::pprof;
use profiler_core::ids::{Id, LabelSetId, RowId, ThreadId};
use profiler_core::pipeline::hub::Hub;
use profiler_core::pipeline::registry::{ThreadLife, ThreadRegistry};
use profiler_core::profile::LabelSet;
use profiler_core::profile::{Function, Profile, Thread, Weights};
use profiler_core::record::detail::GcCause;
use profiler_core::record::{
    push, push_gvl_wait, push_label_switch, push_wait_extension, Header, Kind, State, Walk, WallTimes,
};
use profiler_core::result::taken::{Take, Taken};
use profiler_core::session::spec::{Measures, SessionSpec};
use proptest::collection::vec;
use proptest::prelude::*;

pub(crate) const THREADS: usize = 3;

#[derive(Default)]
pub(crate) struct Ended(pub(crate) Mutex<Vec<ThreadLife>>);

impl ThreadRegistry for Ended {
    fn take_ended(&self, into: &mut Vec<ThreadLife>) {
        into.append(&mut self.0.lock().unwrap());
    }
}

/// A step of the world: an event of a thread or of the session.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// A thread runs, waits, waits for the GVL and collects, each for the time in `took`; then comes a
    /// record, or not.
    Record { thread: usize, took: [u64; 4], kind: Option<Kind>, stack: u64 },
    /// A thread has other labels.
    Labels { thread: usize, labels: usize },
    /// A thread ends, and another begins in its place.
    End { thread: usize },
    /// The session pauses, or resumes.
    Pause,
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let gc = any::<bool>().prop_map(|ticked| Kind::Gc { ticked, since_tick_ns: 0, cause: GcCause::minor(0) });
    let gvl_wait = (0..5_000_u64).prop_map(|since_ns| Kind::GvlWait { since_ns });
    let kind = prop_oneof![
        Just(Kind::Tick),
        Just(Kind::Wait),
        Just(Kind::WaitExtension),
        Just(Kind::GvlFree),
        gc,
        gvl_wait
    ];
    let record =
        (0..THREADS, [0..900_u64, 0..900, 0..90, 0..90], prop::option::weighted(0.8, kind), 1..6_u64);
    let record = record.prop_map(|(thread, took, kind, stack)| Step::Record { thread, took, kind, stack });
    let labels = (0..THREADS, 0..3_usize).prop_map(|(thread, labels)| Step::Labels { thread, labels });
    let end = (0..THREADS).prop_map(|thread| Step::End { thread });
    vec(prop_oneof![20 => record, 3 => labels, 1 => end, 1 => Just(Step::Pause)], 0..300)
}

/// A thread of the world.
#[derive(Clone, Copy, Default)]
pub(crate) struct Clocks {
    id: u32,
    cpu_ns: u64,
    parts: [u64; 4],
    labels: usize,
}

pub(crate) struct World {
    pub(crate) hub: Hub,
    pub(crate) registry: Ended,
    pub(crate) threads: [Clocks; THREADS],
    pub(crate) now_ns: u64,
    pub(crate) last_thread: u32,
    pub(crate) sets: [LabelSetId; 3],
}

impl World {
    pub(crate) fn new() -> Self {
        let hub = Hub::new(1 << 14);
        let set = |it: &str| hub.intern_labels(&labels(it), 0).1;
        let sets = [LabelSetId::NONE, set("a"), set("b")];
        let threads = [0, 1, 2].map(|id| Clocks { id, ..Clocks::default() });
        Self { hub, registry: Ended::default(), threads, now_ns: 1_000, last_thread: 2, sets }
    }

    fn walls(&self, thread: usize) -> WallTimes {
        let [running_ns, waiting_ns, gvl_ns, gc_ns] = self.threads[thread].parts;
        WallTimes { running_ns, waiting_ns, gvl_ns, gc_ns, ..WallTimes::default() }
    }

    pub(crate) fn header(&self, thread: usize, state: State) -> Header {
        let it = &self.threads[thread];
        Header {
            state,
            labels: self.sets[it.labels],
            cpu_ns: it.cpu_ns,
            walls: self.walls(thread),
            ..Header::new(ThreadId(it.id), self.now_ns)
        }
    }

    pub(crate) fn life(&self, thread: usize) -> ThreadLife {
        let last = self.header(thread, State::Running);
        let id = last.thread.0;
        ThreadLife { last, info: Thread { native_id: u64::from(id), name: format!("thread {id}") } }
    }

    pub(crate) fn lives(&self) -> Vec<ThreadLife> {
        (0..THREADS).map(|it| self.life(it)).collect()
    }

    pub(crate) fn all_now(&self) -> Vec<Header> {
        (0..THREADS).map(|thread| self.header(thread, State::Running)).collect()
    }

    pub(crate) fn step(&mut self, step: &Step) {
        match *step {
            Step::Record { thread, took, kind, stack } => {
                let it = &mut self.threads[thread];
                it.parts.iter_mut().zip(took).for_each(|(part, took)| *part += took);
                it.cpu_ns += took[0] + took[3];
                self.now_ns += took.iter().sum::<u64>();
                let state = match kind {
                    None => return,
                    Some(Kind::Wait | Kind::GvlFree | Kind::GvlWait { .. }) => State::Waiting,
                    Some(Kind::Gc { .. }) => State::Gc,
                    _ => State::Running,
                };
                match kind {
                    Some(Kind::WaitExtension) => {
                        return push_wait_extension(&self.hub.ring, &self.header(thread, state)).unwrap();
                    }
                    // `since_ns` is how long it has waited; it may reach back before the start.
                    Some(Kind::GvlWait { since_ns }) => {
                        let since_ns = self.now_ns.saturating_sub(since_ns);
                        return push_gvl_wait(&self.hub.ring, &self.header(thread, state), since_ns).unwrap();
                    }
                    _ => {}
                }
                let handles: Vec<u64> = (1..=stack).map(|it| 0x7f00_0000_0000 | it << 16).collect();
                let lines = vec![1; handles.len()];
                let walk = Walk { handles: &handles, lines: &lines, rootless: false };
                push(&self.hub.ring, kind.unwrap(), &self.header(thread, state), walk, 128).unwrap();
            }
            Step::Labels { thread, labels } => {
                self.threads[thread].labels = labels;
                push_label_switch(&self.hub.ring, &self.header(thread, State::Running)).unwrap();
            }
            Step::End { thread } => {
                self.registry.0.lock().unwrap().push(self.life(thread));
                self.last_thread += 1;
                self.threads[thread] = Clocks { id: self.last_thread, ..Clocks::default() };
            }
            Step::Pause => {}
        }
        while self.hub.drain_batch(&self.registry) {}
    }

    pub(crate) fn profile(&self, closed: Taken) -> Profile {
        let function = |handle: &u64| Function {
            path: "/app/x.rb".into(),
            first_line: 1,
            ..Function::named(format!("m{}", handle >> 16 & 0xff))
        };
        let closed = self.hub.copy(closed);
        let names = closed.unknown.iter().map(|it| (*it, function(it))).collect();
        self.hub.resolve(closed, names)
    }
}

pub(crate) fn labels(value: &str) -> LabelSet {
    LabelSet::EMPTY.with([("job".to_owned(), Some(value.to_owned()))])
}

/// The profiles that a session takes of these steps: a snapshot in the middle, and the whole.
pub(crate) fn record(measures: Measures, only: LabelSet, steps: &[Step]) -> [Profile; 2] {
    let mut world = World::new();
    let spec = SessionSpec {
        measures,
        labels: only,
        scope: None,
        fibers: false,
        spans: false,
        timeline: true,
        threads: None,
    };
    let session = world.hub.open(spec, &world.registry, world.now_ns, &world.all_now());
    let mut middle = None;
    let mut paused = false;
    for (place, step) in steps.iter().enumerate() {
        world.step(step);
        if matches!(step, Step::Pause) {
            paused = !paused;
            if paused {
                world.hub.pause(session, &world.registry, &world.lives());
            } else {
                world.hub.resume(session, &world.registry, world.now_ns, &world.all_now());
            }
        }
        if place == steps.len() / 2 {
            middle = world.hub.take(session, &world.registry, &world.lives(), Take::Snapshot, 0);
        }
    }
    let middle = middle.map(|it| world.profile(it));
    let whole = world.hub.take(session, &world.registry, &world.lives(), Take::Close, 0).unwrap();
    let whole = world.profile(whole);
    [middle.unwrap_or_else(|| whole.clone()), whole]
}

/// The sums of the weights of each row's events.
pub(crate) fn sums(profile: &Profile) -> Vec<Weights> {
    let mut sums = vec![Weights::default(); profile.samples.len()];
    profile.timeline.as_ref().unwrap().iter().for_each(|it| sums[it.row.index()].add(&it.weights));
    sums
}

pub(crate) fn rows(profile: &Profile) -> Vec<Weights> {
    profile.samples.iter().map(|it| it.weights).collect()
}

/// Events with the words of their rows, in the order of time.
pub(crate) fn timed_events(profile: &Profile) -> Vec<(u64, String, Weights)> {
    let name = |it: profiler_core::profile::Frame| profile.function(it.function).unwrap().name.clone();
    let describe = |row: RowId| {
        let row = &profile.samples[row.index()];
        let stack: Vec<String> = profile.frames_of(row.stack).map(name).collect();
        format!("{stack:?} {:?} {:?} {:?}", profile.threads[row.thread], row.state, row.labels)
    };
    profile.timeline.as_ref().unwrap().iter().map(|it| (it.time_ns, describe(it.row), it.weights)).collect()
}

pub(crate) fn written_and_read(profile: &Profile) -> Profile {
    let mut bytes = Vec::new();
    pprof::write(profile, &mut bytes).unwrap();
    profiler_core::format::read(&bytes).unwrap()
}

pub(crate) fn measures() -> impl Strategy<Value = Measures> {
    let both = [(true, false), (false, true), (true, true)];
    prop::sample::select(both.to_vec()).prop_map(|(cpu, wall)| Measures { cpu, wall, ..Measures::NONE })
}
