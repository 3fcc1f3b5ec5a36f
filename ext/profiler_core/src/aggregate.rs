//! What a session has seen so far: weights by stack, thread, labels and state.
//!
//! Law 1 lives here. Each session keeps, for each thread, the clocks up to which it has given every
//! nanosecond to a stack: the CPU clock, and where it looks at the wall clock the four parts of that. A
//! record moves the clocks of its kind on and gives the differences to its own stack; what is left when
//! the thread ends or the session closes goes to the last stack that had the like, or to `(unsampled)`
//! when there is none. So the sums of a thread are always the thread's own clocks.
//!
//! A session that looks at labels counts a thread only while it is inside: from the switch that brings
//! the labels to the one that takes them away.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::ids::{LabelSetId, StackId, ThreadId};
use crate::sample::{Kind, Stamp, State, Walls};
use crate::view::Measures;

/// What weights are summed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The stack; nothing for time of which no stack was ever taken.
    pub stack: Option<StackId>,
    /// Whose time.
    pub thread: ThreadId,
    /// Labels current then.
    pub labels: LabelSetId,
    /// What the thread was doing.
    pub state: State,
}

/// What was summed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weight {
    /// Records.
    pub count: u64,
    /// CPU time, ns.
    pub cpu_ns: u64,
    /// Wall clock time in the key's state, ns.
    pub wall_ns: u64,
}

/// The clocks of a thread when something is settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Last {
    /// Who.
    pub thread: ThreadId,
    /// Its CPU clock when it was born or first seen, ns.
    pub born_cpu_ns: u64,
    /// Its CPU clock, ns.
    pub cpu_ns: u64,
    /// Its wall clocks.
    pub walls: Walls,
}

/// A thread's clocks, up to which every nanosecond has been given to a stack.
#[derive(Clone, Copy, Debug)]
struct Clock {
    cpu_ns: u64,
    walls: Walls,
    /// Whether the thread's time counts now.
    inside: bool,
    /// Labels current on the thread, where the session looks at labels.
    labels: LabelSetId,
    /// Where the last records went: with a tick in it, of running code, of a wait, of a GC.
    last: Option<Key>,
    last_ran: Option<Key>,
    last_wait: Option<Key>,
    last_gc: Option<Key>,
}

/// A thread at the moment a session begins to look at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beginning {
    /// Who.
    pub thread: ThreadId,
    /// Its CPU clock, ns.
    pub cpu_ns: u64,
    /// Its wall clocks.
    pub walls: Walls,
    /// Whether its time counts from now on, or only after it has crossed into the session's labels.
    pub inside: bool,
    /// Labels current on it.
    pub labels: LabelSetId,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Aggregate {
    measures: Measures,
    started_ns: u64,
    /// Whether the time of a thread that is born counts from its birth.
    born_inside: bool,
    weights: HashMap<Key, Weight, FxBuildHasher>,
    clocks: HashMap<ThreadId, Clock, FxBuildHasher>,
}

impl Aggregate {
    /// For a session that starts at `started_ns` on the monotonic clock, with the threads that exist
    /// then. Others count from their birth if `born_inside`, else from where they cross.
    pub fn new(
        measures: Measures,
        started_ns: u64,
        born_inside: bool,
        threads: impl IntoIterator<Item = Beginning>,
    ) -> Self {
        let (weights, clocks) = (HashMap::default(), HashMap::default());
        let mut new = Self { measures, started_ns, born_inside, weights, clocks };
        new.restart(started_ns, threads);
        new
    }

    /// Goes on at `started_ns` after a pause, with the threads that exist then. What a thread did
    /// meanwhile is not counted.
    pub fn restart(&mut self, started_ns: u64, threads: impl IntoIterator<Item = Beginning>) {
        self.started_ns = started_ns;
        let before = std::mem::take(&mut self.clocks);
        let clock = |it: Beginning| {
            let before = before.get(&it.thread).copied().unwrap_or_else(|| Clock::at(it.cpu_ns));
            let Beginning { cpu_ns, walls, inside, labels, .. } = it;
            (it.thread, Clock { cpu_ns, walls, inside, labels, ..before })
        };
        self.clocks = threads.into_iter().map(clock).collect();
    }

    /// The thread of `stamp` is inside the session's labels from now on, or no longer.
    pub fn cross(&mut self, stamp: &Stamp, inside: bool) {
        if stamp.monotonic_ns < self.started_ns {
            return;
        }
        let clock = self.clock(stamp.thread, stamp.born_cpu_ns);
        match (clock.inside, inside) {
            (true, true) => clock.labels = stamp.labels,
            (false, true) => {
                clock.labels = stamp.labels;
                clock.inside = true;
                // Never back: what was given once is given.
                clock.cpu_ns = clock.cpu_ns.max(stamp.cpu_ns);
                clock.walls = clock.walls.max(&stamp.walls);
            }
            (true, false) => {
                let Stamp { thread, born_cpu_ns, cpu_ns, walls, .. } = *stamp;
                self.settle(&Last { thread, born_cpu_ns, cpu_ns, walls });
                self.clock(stamp.thread, stamp.born_cpu_ns).inside = false;
            }
            (false, false) => {}
        }
    }

    /// Counts one record. Records from before the start, and of what the session does not measure, are not its.
    pub fn add(&mut self, kind: Kind, stamp: &Stamp, stack: Option<StackId>) {
        let Measures { cpu, wall } = self.measures;
        let ours = match kind {
            Kind::Switch => false,
            // Off the GVL a tick says nothing of the wall clock.
            Kind::Tick => cpu || stamp.state != State::Waiting,
            Kind::Wait | Kind::Gc | Kind::Still => wall,
            Kind::GcTick => true,
        };
        if stamp.monotonic_ns < self.started_ns || !ours {
            return;
        }
        let key = |state| Key { stack, thread: stamp.thread, labels: stamp.labels, state };
        let born_inside = self.born_inside;
        let clock = self.clock(stamp.thread, stamp.born_cpu_ns);
        let (given, now) = (&mut clock.walls, &stamp.walls);
        let mut count = 1;
        let mut cpu_ns = 0;
        if matches!(kind, Kind::Tick | Kind::GcTick) {
            cpu_ns = forward(&mut clock.cpu_ns, stamp.cpu_ns);
            clock.last = Some(key(stamp.state));
        }
        match kind {
            Kind::Wait => {
                let waiting_ns = forward(&mut given.waiting_ns, now.waiting_ns);
                let gvl_ns = forward(&mut given.gvl_ns, now.gvl_ns);
                clock.last_wait = Some(key(State::Waiting));
                // One record, counted where there was more.
                count = u64::from(waiting_ns >= gvl_ns);
                self.weigh(key(State::Waiting), Weight { count, cpu_ns, wall_ns: waiting_ns });
                self.weigh(key(State::Gvl), Weight { count: 1 - count, cpu_ns, wall_ns: gvl_ns });
            }
            Kind::Still => {
                // Where no stack is known, or it is of other labels, the time waits for one.
                let labels = clock.labels;
                if let Some(key) = clock.last_wait.filter(|key| born_inside || key.labels == labels) {
                    let wall_ns = forward(&mut given.waiting_ns, now.waiting_ns);
                    self.weigh(key, Weight { count: 0, cpu_ns: 0, wall_ns });
                }
            }
            Kind::Gc | Kind::GcTick => {
                let wall_ns = forward(&mut given.gc_ns, now.gc_ns);
                clock.last_gc = Some(key(State::Gc));
                self.weigh(key(State::Gc), Weight { count, cpu_ns, wall_ns });
            }
            Kind::Tick | Kind::Switch => {
                // Running alone is sampled; the other parts are measured, and come with records of their own.
                let mut wall_ns = 0;
                if stamp.state == State::Running {
                    wall_ns = forward(&mut given.running_ns, now.running_ns);
                    clock.last_ran = Some(key(State::Running));
                }
                self.weigh(key(stamp.state), Weight { count, cpu_ns, wall_ns });
            }
        }
    }

    fn weigh(&mut self, key: Key, more: Weight) {
        if more == Weight::default() {
            return;
        }
        let weight = self.weights.entry(key).or_default();
        weight.count += more.count;
        weight.cpu_ns += more.cpu_ns;
        weight.wall_ns += more.wall_ns;
    }

    /// Gives away what is left of a thread whose clocks stand at `last`: to the stacks that last had the like, or
    /// to none.
    pub fn settle(&mut self, last: &Last) {
        let (born_inside, wall) = (self.born_inside, self.measures.wall);
        let thread = last.thread;
        let clock = self.clock(thread, last.born_cpu_ns);
        if !clock.inside {
            return;
        }
        let labels = clock.labels;
        // What is left under these labels is not for a stack of other labels.
        let fits = |key: &Key| born_inside || key.labels == labels;
        let nowhere = |state| Key { stack: None, thread, labels, state };
        let like =
            |key: Option<Key>, state| key.filter(fits).map_or(nowhere(state), |key| Key { state, ..key });
        let (given, now) = (&mut clock.walls, &last.walls);
        let ticked = clock.last.filter(fits).unwrap_or(nowhere(State::Running));
        let cpu_ns = forward(&mut clock.cpu_ns, last.cpu_ns);
        let parts = [
            (like(clock.last_ran, State::Running), forward(&mut given.running_ns, now.running_ns)),
            (like(clock.last_wait, State::Waiting), forward(&mut given.waiting_ns, now.waiting_ns)),
            (like(clock.last_wait, State::Gvl), forward(&mut given.gvl_ns, now.gvl_ns)),
            (like(clock.last_gc, State::Gc), forward(&mut given.gc_ns, now.gc_ns)),
        ];
        self.weigh(ticked, Weight { count: 0, cpu_ns, wall_ns: 0 });
        for (key, wall_ns) in parts.into_iter().filter(|_| wall) {
            self.weigh(key, Weight { count: 0, cpu_ns: 0, wall_ns });
        }
    }

    /// Forgets the clock of a thread that has ended and was settled, so that memory follows the
    /// threads that live.
    pub fn forget(&mut self, thread: ThreadId) {
        self.clocks.remove(&thread);
    }

    /// The sums, in an order that does not depend on any hash.
    #[must_use]
    pub fn into_weights(self) -> Vec<(Key, Weight)> {
        let mut weights: Vec<_> = self.weights.into_iter().collect();
        weights.sort_unstable_by_key(|(key, _)| *key);
        weights
    }

    fn clock(&mut self, thread: ThreadId, born_cpu_ns: u64) -> &mut Clock {
        let born = Clock { inside: self.born_inside, ..Clock::at(born_cpu_ns) };
        self.clocks.entry(thread).or_insert(born)
    }
}

impl Clock {
    fn at(cpu_ns: u64) -> Self {
        let (walls, labels) = (Walls::default(), LabelSetId::NONE);
        Self {
            cpu_ns,
            walls,
            inside: false,
            labels,
            last: None,
            last_ran: None,
            last_wait: None,
            last_gc: None,
        }
    }
}

/// Moves a clock on to where it stands now, never back, and gives the difference.
fn forward(given_ns: &mut u64, now_ns: u64) -> u64 {
    let more = now_ns.saturating_sub(*given_ns);
    *given_ns += more;
    more
}

#[cfg(all(test, not(loom)))]
mod tests;
