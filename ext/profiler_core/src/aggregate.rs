//! What a session has seen so far: weights by stack, thread, labels and state.
//!
//! Law 1 lives here. Each session keeps, for each thread, the CPU clock up to which it has given
//! every nanosecond to a stack. A record moves that clock on and gives the difference to its own
//! stack; what is left when the thread ends or the session closes goes to the thread's last stack,
//! or to `(unsampled)` when it has none. So the sum of a thread is always the thread's own clock.

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
    last: Option<Key>,
}

/// See the module.
#[derive(Debug)]
pub struct Aggregate {
    started_ns: u64,
    weights: HashMap<Key, Weight, FxBuildHasher>,
    clocks: HashMap<ThreadId, Clock, FxBuildHasher>,
}

impl Aggregate {
    /// For a session that starts at `started_ns` on the monotonic clock. `threads` are those that
    /// exist then, with their CPU clocks; others are counted from their birth.
    pub fn new(started_ns: u64, threads: impl IntoIterator<Item = (ThreadId, u64)>) -> Self {
        let clock = |(thread, cpu_ns)| (thread, Clock { given_cpu_ns: cpu_ns, last: None });
        Self { started_ns, weights: HashMap::default(), clocks: threads.into_iter().map(clock).collect() }
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
        let clock = self.clock(thread, born_cpu_ns);
        let left = cpu_ns.saturating_sub(clock.given_cpu_ns);
        if left == 0 {
            return;
        }
        clock.given_cpu_ns += left;
        let nowhere = Key { stack: None, thread, labels: LabelSetId::NONE, state: State::Running };
        let key = clock.last.unwrap_or(nowhere);
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
        self.clocks.entry(thread).or_insert(Clock { given_cpu_ns: born_cpu_ns, last: None })
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

    fn sum(aggregate: Aggregate, thread: u32) -> u64 {
        let of = |(key, weight): (Key, Weight)| (key.thread.0 == thread).then_some(weight.cpu_ns);
        aggregate.into_weights().into_iter().filter_map(of).sum()
    }

    #[test]
    fn a_record_is_worth_the_time_since_the_one_before() {
        let mut aggregate = Aggregate::new(0, [(ThreadId(1), 100)]);
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
        let mut aggregate = Aggregate::new(0, []);
        aggregate.settle(ThreadId(3), 5, 45);
        let weights = aggregate.into_weights();
        assert_eq!(weights.len(), 1);
        assert_eq!((weights[0].0.stack, weights[0].1.cpu_ns), (None, 40));
    }

    #[test]
    fn records_from_before_the_start_are_not_ours() {
        let mut aggregate = Aggregate::new(10, [(ThreadId(1), 100)]);
        aggregate.add(&stamp(1, 90, 9), Some(StackId(1)));
        assert!(aggregate.into_weights().is_empty());
    }

    proptest! {
        /// Law 1, whatever was dropped and in whatever order threads come.
        #[test]
        fn the_sum_is_the_clock(
            steps in prop::collection::vec((0u32..4, 0u64..1000, any::<bool>()), 0..300),
        ) {
            let starts = [(ThreadId(0), 50), (ThreadId(1), 7)];
            let mut aggregate = Aggregate::new(0, starts);
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
    fn an_ended_thread_can_be_forgotten() {
        let mut aggregate = Aggregate::new(0, []);
        aggregate.settle(ThreadId(3), 5, 45);
        aggregate.forget(ThreadId(3));
        assert_eq!(sum(aggregate, 3), 40);
    }
}
