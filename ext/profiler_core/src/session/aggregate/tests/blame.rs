//! Waiting for the GVL, blamed on the code that held it.

use super::*;
use crate::session::gvl_ticks::{GvlTick, GvlTicks};

const NOBODY: Option<StackId> = Some(StackId(9));

fn tick(at_ns: u64, thread: u32, stack: u32) -> GvlTick {
    let (thread, labels, state, detail) = (ThreadId(thread), LabelSetId::NONE, State::Running, Detail::None);
    let (stack, span) = (Some(StackId(stack)), SpanIndex::NONE);
    GvlTick { at_ns, key: Key { stack, thread, labels, span, state, detail } }
}

/// Returns the header at the end of a wait of thread 1 for the GVL at `at_ns`, when the thread has waited for
/// `gvl_ns` in total.
fn wait(at_ns: u64, gvl_ns: u64) -> Header {
    Header { monotonic_ns: at_ns, ..measured(State::Waiting, 0, [at_ns, 0, gvl_ns, 0]) }
}

/// Returns `(stack, thread, blame)` of each row with blame, sorted.
fn blamed(aggregate: Aggregate) -> Vec<(Option<StackId>, u32, u64)> {
    let weights = aggregate.into_weights().into_iter().filter(|(_, it)| it.blame_ns > 0);
    let mut rows: Vec<_> = weights.map(|(key, it)| (key.stack, key.thread.0, it.blame_ns)).collect();
    rows.sort_unstable();
    rows
}

#[test]
fn each_tick_within_a_wait_gets_the_time_since_the_one_before() {
    let mut aggregate = Aggregate::new(BOTH, 0, true, [at(1, 0)]);
    // The thread waited for the GVL from 100 to 160.
    aggregate.blame(&wait(160, 60), [tick(110, 2, 4), tick(130, 3, 5), tick(140, 2, 4)].into_iter());
    assert_eq!(blamed(aggregate.clone()), [(Some(StackId(4)), 2, 10 + 10), (Some(StackId(5)), 3, 20)]);
    // It waited again from 200 to 230: the first tick gets the rest of the first wait.
    aggregate.blame(&wait(230, 90), [tick(210, 3, 5)].into_iter());
    assert_eq!(blamed(aggregate.clone()), [(Some(StackId(4)), 2, 20), (Some(StackId(5)), 3, 20 + 20 + 10)]);
    // The rest goes to the row that was blamed last.
    aggregate.finish(&Header { walls: walls([300, 0, 95, 0]), ..last(1, 0) });
    assert_eq!(blamed(aggregate), [(Some(StackId(4)), 2, 20), (Some(StackId(5)), 3, 50 + 20 + 5)]);
}

#[test]
fn a_wait_that_is_recorded_twice_is_blamed_once() {
    let mut aggregate = Aggregate::new(BOTH, 0, true, [at(1, 0)]);
    let ticks = [tick(110, 2, 4), tick(120, 2, 4), tick(150, 2, 5)];
    aggregate.blame(&wait(130, 30), ticks[..2].iter().copied());
    aggregate.blame(&wait(160, 60), ticks.into_iter());
    assert_eq!(blamed(aggregate), [(Some(StackId(4)), 2, 20), (Some(StackId(5)), 2, 30)]);
}

#[test]
fn nobody_is_blamed_where_nobody_had_it() {
    let mut aggregate = Aggregate::new(BOTH, 0, true, [at(1, 0)]);
    aggregate.record(Kind::GvlFree, &wait(150, 7), NOBODY);
    assert_eq!(blamed(aggregate), [(NOBODY, 1, 7)]);
}

#[test]
fn time_before_the_session_and_outside_of_its_labels_is_not_blamed() {
    let at_start = (Header { walls: walls([0, 0, 40, 0]), ..header(1, 0, 0) }, true);
    let mut aggregate = Aggregate::new(BOTH, 120, true, [at_start]);
    aggregate.blame(&wait(160, 80), [tick(110, 2, 4), tick(130, 2, 5)].into_iter());
    assert_eq!(blamed(aggregate), [(Some(StackId(5)), 2, 10)], "the first tick came before the session");

    let mut aggregate = Aggregate::new(BOTH, 0, false, []);
    assert!(!aggregate.counts(&wait(160, 60)));
    aggregate.switch(&wait(170, 60), true);
    assert!(aggregate.counts(&wait(180, 70)));
}

proptest! {
    /// Threads wait, hold the GVL, and tick or not; the session is finished in between or not. The sum equals
    /// the waiting, and only code that ran while a thread waited is blamed.
    #[test]
    fn blame_adds_up_to_waiting(
        turns in prop::collection::vec((0u32..4, 1u64..100, prop::collection::vec(0u64..100, 0..6)), 1..60),
        first_waiting in 0usize..4,
    ) {
        let mut aggregate = Aggregate::new(BOTH, 0, true, (0..4).map(|it| at(it, 0)));
        let (mut now_ns, mut log, mut gvl_ns, mut waits_since) = (1_000, GvlTicks::default(), [0u64; 4], [None; 4]);
        let mut blamable = [[false; 4]; 4];
        for (turn, (holder, length, ticks)) in turns.iter().enumerate() {
            let me = *holder as usize;
            // The thread gets the GVL, so its wait is over.
            if let Some(since) = waits_since[me].take() {
                gvl_ns[me] += now_ns - since;
                let header = Header { thread: ThreadId(*holder), ..wait(now_ns, gvl_ns[me]) };
                aggregate.blame(&header, log.between(since, now_ns).copied());
            }
            // Others begin to wait.
            for other in (0..4).filter(|it| *it != me && (turn + it) % 4 >= first_waiting) {
                waits_since[other].get_or_insert(now_ns);
            }
            let mut at: Vec<u64> = ticks.iter().map(|it| now_ns + 1 + it % length).collect();
            at.sort_unstable();
            for at_ns in at {
                log.push(tick(at_ns, *holder, *holder));
                (0..4).filter(|it| waits_since[*it].is_some()).for_each(|it| blamable[it][me] = true);
            }
            now_ns += length + 1;
        }
        for me in 0..4u32 {
            if let Some(since) = waits_since[me as usize] {
                gvl_ns[me as usize] += now_ns - since;
                let header = Header { thread: ThreadId(me), ..wait(now_ns, gvl_ns[me as usize]) };
                aggregate.blame(&header, log.between(since, now_ns).copied());
            }
            aggregate.finish(&Header { walls: walls([0, 0, gvl_ns[me as usize], 0]), monotonic_ns: now_ns, ..last(me, 0) });
        }
        let mut sums = [0u64; 4];
        for (key, weight) in aggregate.into_weights().into_iter().filter(|(_, it)| it.blame_ns > 0) {
            match key.detail {
                Detail::Waiter(waiter) => {
                    prop_assert!(blamable[waiter.0 as usize][key.thread.0 as usize], "{:?}", key);
                    sums[waiter.0 as usize] += weight.blame_ns;
                }
                _ => {
                    prop_assert!(key.stack.is_none() && !blamable[key.thread.0 as usize].contains(&true));
                    sums[key.thread.0 as usize] += weight.blame_ns;
                }
            }
        }
        prop_assert_eq!(sums, gvl_ns);
    }
}
