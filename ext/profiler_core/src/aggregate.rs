//! What a session has seen so far: weights by stack, thread, labels and state.
//!
//! Law 1 lives here. Each session keeps, for each thread, the CPU clock up to which it has given
//! every nanosecond to a stack. A record moves that clock on and gives the difference to its own
//! stack; what is left when the thread ends or the session closes goes to the thread's last stack,
//! or to `(unsampled)` when it has none. So the sum of a thread is always the thread's own clock.
//!
//! A session that looks at labels counts a thread only while it is inside: from the switch that brings
//! the labels to the one that takes them away.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::ids::{LabelSetId, StackId, ThreadId};
use crate::sample::{Stamp, State};

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
}

#[derive(Clone, Copy, Debug)]
struct Clock {
    given_cpu_ns: u64,
    /// Whether the thread's time counts now.
    inside: bool,
    /// Labels current on the thread, where the session looks at labels.
    labels: LabelSetId,
    last: Option<Key>,
}

/// A thread at the moment a session begins to look at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beginning {
    /// Who.
    pub thread: ThreadId,
    /// Its CPU clock, ns.
    pub cpu_ns: u64,
    /// Whether its time counts from now on, or only after it has crossed into the session's labels.
    pub inside: bool,
    /// Labels current on it.
    pub labels: LabelSetId,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Aggregate {
    started_ns: u64,
    /// Whether the time of a thread that is born counts from its birth.
    born_inside: bool,
    weights: HashMap<Key, Weight, FxBuildHasher>,
    clocks: HashMap<ThreadId, Clock, FxBuildHasher>,
}

impl Aggregate {
    /// For a session that starts at `started_ns` on the monotonic clock, with the threads that exist
    /// then. Others count from their birth if `born_inside`, else from where they cross.
    pub fn new(started_ns: u64, born_inside: bool, threads: impl IntoIterator<Item = Beginning>) -> Self {
        let mut new =
            Self { started_ns, born_inside, weights: HashMap::default(), clocks: HashMap::default() };
        new.restart(started_ns, threads);
        new
    }

    /// Goes on at `started_ns` after a pause, with the threads that exist then. What a thread did
    /// meanwhile is not counted.
    pub fn restart(&mut self, started_ns: u64, threads: impl IntoIterator<Item = Beginning>) {
        self.started_ns = started_ns;
        let before = std::mem::take(&mut self.clocks);
        let clock = |it: Beginning| {
            let last = before.get(&it.thread).and_then(|clock| clock.last);
            (it.thread, Clock { given_cpu_ns: it.cpu_ns, inside: it.inside, labels: it.labels, last })
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
                clock.given_cpu_ns = clock.given_cpu_ns.max(stamp.cpu_ns);
            }
            (true, false) => {
                self.settle(stamp.thread, stamp.born_cpu_ns, stamp.cpu_ns);
                self.clock(stamp.thread, stamp.born_cpu_ns).inside = false;
            }
            (false, false) => {}
        }
    }

    /// Counts one record. Records from before the start are not this session's.
    pub fn add(&mut self, stamp: &Stamp, stack: Option<StackId>) {
        if stamp.monotonic_ns < self.started_ns {
            return;
        }
        let key = Key { stack, thread: stamp.thread, labels: stamp.labels, state: stamp.state };
        let clock = self.clock(stamp.thread, stamp.born_cpu_ns);
        let cpu_ns = stamp.cpu_ns.saturating_sub(clock.given_cpu_ns);
        clock.given_cpu_ns += cpu_ns;
        clock.last = Some(key);
        let weight = self.weights.entry(key).or_default();
        weight.count += 1;
        weight.cpu_ns += cpu_ns;
    }

    /// Gives away what is left of a thread whose CPU clock now stands at `cpu_ns`.
    pub fn settle(&mut self, thread: ThreadId, born_cpu_ns: u64, cpu_ns: u64) {
        let born_inside = self.born_inside;
        let clock = self.clock(thread, born_cpu_ns);
        let left = cpu_ns.saturating_sub(clock.given_cpu_ns);
        if left == 0 || !clock.inside {
            return;
        }
        clock.given_cpu_ns += left;
        let nowhere = Key { stack: None, thread, labels: clock.labels, state: State::Running };
        // What is left under these labels is not for a stack of other labels.
        let last = clock.last.filter(|last| born_inside || last.labels == clock.labels);
        let key = last.unwrap_or(nowhere);
        self.weights.entry(key).or_default().cpu_ns += left;
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
        let (inside, labels) = (self.born_inside, LabelSetId::NONE);
        let born = Clock { given_cpu_ns: born_cpu_ns, inside, labels, last: None };
        self.clocks.entry(thread).or_insert(born)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::ids::ScopeId;
    use proptest::prelude::*;

    fn stamp(thread: u32, cpu_ns: u64, monotonic_ns: u64) -> Stamp {
        Stamp {
            thread: ThreadId(thread),
            state: State::Running,
            labels: LabelSetId::NONE,
            scope: ScopeId::NONE,
            cpu_ns,
            monotonic_ns,
            born_cpu_ns: 5,
        }
    }

    fn at(thread: u32, cpu_ns: u64) -> Beginning {
        Beginning { thread: ThreadId(thread), cpu_ns, inside: true, labels: LabelSetId::NONE }
    }

    fn sum(aggregate: Aggregate, thread: u32) -> u64 {
        let of = |(key, weight): (Key, Weight)| (key.thread.0 == thread).then_some(weight.cpu_ns);
        aggregate.into_weights().into_iter().filter_map(of).sum()
    }

    #[test]
    fn a_record_is_worth_the_time_since_the_one_before() {
        let mut aggregate = Aggregate::new(0, true, [at(1, 100)]);
        aggregate.add(&stamp(1, 130, 1), Some(StackId(7)));
        aggregate.add(&stamp(1, 150, 2), Some(StackId(8)));
        aggregate.settle(ThreadId(1), 5, 155);
        let weights: Vec<_> =
            aggregate.into_weights().into_iter().map(|(key, weight)| (key.stack, weight)).collect();
        assert_eq!(
            weights,
            [
                (Some(StackId(7)), Weight { count: 1, cpu_ns: 30 }),
                (Some(StackId(8)), Weight { count: 1, cpu_ns: 25 }),
            ]
        );
    }

    #[test]
    fn a_thread_never_sampled_keeps_its_time() {
        let mut aggregate = Aggregate::new(0, true, []);
        aggregate.settle(ThreadId(3), 5, 45);
        let weights = aggregate.into_weights();
        assert_eq!(weights.len(), 1);
        assert_eq!((weights[0].0.stack, weights[0].1.cpu_ns), (None, 40));
    }

    #[test]
    fn records_from_before_the_start_are_not_ours() {
        let mut aggregate = Aggregate::new(10, true, [at(1, 100)]);
        aggregate.add(&stamp(1, 90, 9), Some(StackId(1)));
        assert!(aggregate.into_weights().is_empty());
    }

    proptest! {
        /// Law 1, whatever was dropped and in whatever order threads come.
        #[test]
        fn the_sum_is_the_clock(
            steps in prop::collection::vec((0u32..4, 0u64..1000, any::<bool>()), 0..300),
        ) {
            let mut aggregate = Aggregate::new(0, true, [at(0, 50), at(1, 7)]);
            let mut clocks = [50u64, 7, 5, 5];
            for (turn, (thread, ran, delivered)) in steps.into_iter().enumerate() {
                clocks[thread as usize] += ran;
                if delivered {
                    let stack = Some(StackId(turn as u32 % 3));
                    aggregate.add(&stamp(thread, clocks[thread as usize], turn as u64), stack);
                }
            }
            for (thread, cpu_ns) in clocks.iter().enumerate() {
                aggregate.settle(ThreadId(thread as u32), 5, *cpu_ns);
            }
            let weights = aggregate.into_weights();
            for (thread, start) in [50u64, 7, 5, 5].into_iter().enumerate() {
                let total: u64 = weights.iter().filter(|(key, _)| key.thread.0 == thread as u32).map(|(_, w)| w.cpu_ns).sum();
                prop_assert_eq!(total, clocks[thread] - start);
            }
        }
    }

    #[test]
    fn only_time_inside_counts_and_what_is_left_at_the_end_of_it_goes_to_the_last_stack() {
        let mut aggregate = Aggregate::new(0, false, []);
        aggregate.cross(&stamp(1, 100, 1), true);
        aggregate.add(&stamp(1, 130, 2), Some(StackId(7)));
        aggregate.cross(&stamp(1, 150, 3), false);
        aggregate.cross(&stamp(1, 400, 4), true);
        aggregate.cross(&stamp(1, 410, 5), false);
        aggregate.settle(ThreadId(1), 5, 999);
        aggregate.settle(ThreadId(2), 5, 999);
        let weights = aggregate.into_weights();
        assert_eq!(weights.len(), 1);
        assert_eq!(weights[0].1, Weight { count: 1, cpu_ns: 30 + 20 + 10 });
    }

    #[test]
    fn a_pause_is_left_out() {
        let mut aggregate = Aggregate::new(0, true, [at(1, 100)]);
        aggregate.settle(ThreadId(1), 5, 120);
        aggregate.restart(10, [at(1, 500)]);
        aggregate.add(&stamp(1, 400, 9), Some(StackId(7)));
        aggregate.settle(ThreadId(1), 5, 503);
        assert_eq!(sum(aggregate, 1), 23);
    }

    #[test]
    fn an_ended_thread_can_be_forgotten() {
        let mut aggregate = Aggregate::new(0, true, []);
        aggregate.settle(ThreadId(3), 5, 45);
        aggregate.forget(ThreadId(3));
        assert_eq!(sum(aggregate, 3), 40);
    }
}
