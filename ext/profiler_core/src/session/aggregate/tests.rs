//! Law 1, with numbers instead of clocks.

use super::*;
use crate::ids::LabelSetId;
use crate::record::detail::GcCause;
use crate::record::WallTimes;
use proptest::prelude::*;

mod blame;
mod gc;
mod off_cpu;

fn header(thread: u32, cpu_ns: u64, monotonic_ns: u64) -> Header {
    Header { cpu_ns, start_cpu_ns: 5, ..Header::new(ThreadId(thread), monotonic_ns) }
}

const CPU: Measures = Measures { cpu: true, ..Measures::NONE };
const BOTH: Measures = Measures { cpu: true, wall: true, ..Measures::NONE };

fn at(thread: u32, cpu_ns: u64) -> (Header, bool) {
    (header(thread, cpu_ns, 0), true)
}

fn last(thread: u32, cpu_ns: u64) -> Header {
    header(thread, cpu_ns, 1)
}

fn sum(aggregate: Aggregate, thread: u32) -> u64 {
    let of = |(key, weight): (Key, RowSums)| (key.thread.0 == thread).then_some(weight.cpu_ns);
    aggregate.into_weights().into_iter().filter_map(of).sum()
}

#[test]
fn a_record_weighs_the_time_since_the_previous_one() {
    let mut aggregate = Aggregate::new(CPU, 0, true, [at(1, 100)]);
    aggregate.record(Kind::Tick, &header(1, 130, 1), Some(StackId(7)));
    aggregate.record(Kind::Tick, &header(1, 150, 2), Some(StackId(8)));
    aggregate.finish(&last(1, 155));
    let mut weights: Vec<_> =
        aggregate.into_weights().into_iter().map(|(key, weight)| (key.stack, weight)).collect();
    weights.sort_unstable_by_key(|(stack, _)| *stack);
    assert_eq!(
        weights,
        [
            (Some(StackId(7)), RowSums { count: 1, cpu_ns: 30, ..RowSums::default() }),
            (Some(StackId(8)), RowSums { count: 1, cpu_ns: 25, ..RowSums::default() }),
        ]
    );
}

#[test]
fn an_unsampled_thread_keeps_its_time() {
    let mut aggregate = Aggregate::new(CPU, 0, true, []);
    aggregate.finish(&last(3, 45));
    let weights = aggregate.into_weights();
    assert_eq!(weights.len(), 1);
    assert_eq!((weights[0].0.stack, weights[0].1.cpu_ns), (None, 40));
}

#[test]
fn ignores_records_from_before_the_start() {
    let mut aggregate = Aggregate::new(CPU, 10, true, [at(1, 100)]);
    aggregate.record(Kind::Tick, &header(1, 90, 9), Some(StackId(1)));
    assert!(aggregate.into_weights().is_empty());
}

proptest! {
    /// Law 1 holds whatever was dropped and in whatever order threads come.
    #[test]
    fn weights_add_up_to_the_clock(
        steps in prop::collection::vec((0u32..4, 0u64..1000, any::<bool>()), 0..300),
    ) {
        let mut aggregate = Aggregate::new(CPU, 0, true, [at(0, 50), at(1, 7)]);
        let mut clocks = [50u64, 7, 5, 5];
        for (turn, (thread, ran, delivered)) in steps.into_iter().enumerate() {
            clocks[thread as usize] += ran;
            if delivered {
                let stack = Some(StackId(turn as u32 % 3));
                aggregate.record(Kind::Tick, &header(thread, clocks[thread as usize], turn as u64), stack);
            }
        }
        for (thread, cpu_ns) in clocks.iter().enumerate() {
            aggregate.finish(&last(thread as u32, *cpu_ns));
        }
        let weights = aggregate.into_weights();
        for (thread, start) in [50u64, 7, 5, 5].into_iter().enumerate() {
            let total: u64 = weights.iter().filter(|(key, _)| key.thread.0 == thread as u32).map(|(_, w)| w.cpu_ns).sum();
            prop_assert_eq!(total, clocks[thread] - start);
        }
    }
}

#[test]
fn only_time_inside_counts_and_the_rest_goes_to_the_last_stack() {
    let mut aggregate = Aggregate::new(CPU, 0, false, []);
    aggregate.switch(&header(1, 100, 1), true);
    aggregate.record(Kind::Tick, &header(1, 130, 2), Some(StackId(7)));
    aggregate.switch(&header(1, 150, 3), false);
    aggregate.switch(&header(1, 400, 4), true);
    aggregate.switch(&header(1, 410, 5), false);
    aggregate.finish(&last(1, 999));
    aggregate.finish(&last(2, 999));
    let weights = aggregate.into_weights();
    assert_eq!(weights.len(), 1);
    assert_eq!(weights[0].1, RowSums { count: 1, cpu_ns: 30 + 20 + 10, ..RowSums::default() });
}

#[test]
fn a_pause_is_excluded() {
    let mut aggregate = Aggregate::new(CPU, 0, true, [at(1, 100)]);
    aggregate.finish(&last(1, 120));
    aggregate.resume(10, [at(1, 500)]);
    aggregate.record(Kind::Tick, &header(1, 400, 9), Some(StackId(7)));
    aggregate.finish(&last(1, 503));
    assert_eq!(sum(aggregate, 1), 23);
}

#[test]
fn an_ended_thread_can_be_forgotten() {
    let mut aggregate = Aggregate::new(CPU, 0, true, []);
    aggregate.finish(&last(3, 45));
    aggregate.forget(ThreadId(3));
    assert_eq!(sum(aggregate, 3), 40);
}

const GC: Kind = Kind::Gc { ticked: false, since_tick_ns: 0, cause: GcCause::UNKNOWN };
const TICKED_GC: Kind = Kind::Gc { ticked: true, since_tick_ns: 0, cause: GcCause::UNKNOWN };

const RAN: Option<StackId> = Some(StackId(1));
const WAITED: Option<StackId> = Some(StackId(2));
const COLLECTED: Option<StackId> = Some(StackId(3));

fn walls([running_ns, waiting_ns, gvl_ns, gc_ns]: [u64; 4]) -> WallTimes {
    WallTimes { running_ns, waiting_ns, gvl_ns, gc_ns, ..WallTimes::default() }
}

fn measured(state: State, cpu_ns: u64, parts: [u64; 4]) -> Header {
    Header { state, walls: walls(parts), ..header(1, cpu_ns, 1) }
}

fn rows(aggregate: Aggregate) -> Vec<(Option<StackId>, State, u64, u64, u64)> {
    let row = |(key, it): (Key, RowSums)| (key.stack, key.state, it.count, it.cpu_ns, it.wall_ns);
    let mut weights = aggregate.into_weights();
    weights.sort_unstable_by_key(|(key, _)| *key);
    let weights = weights.into_iter();
    weights.filter(|(_, it)| RowSums { blame_ns: 0, ..*it } != RowSums::default()).map(row).collect()
}

#[test]
fn each_part_of_the_wall_clock_has_its_own_records() {
    let mut aggregate = Aggregate::new(BOTH, 0, true, [at(1, 100)]);
    aggregate.record(Kind::Tick, &measured(State::Running, 110, [12, 3, 0, 0]), RAN);
    aggregate.record(Kind::Wait, &measured(State::Waiting, 111, [13, 50, 7, 0]), WAITED);
    aggregate.record(TICKED_GC, &measured(State::Gc, 120, [14, 50, 7, 9]), COLLECTED);
    let end = Header { walls: walls([20, 52, 8, 10]), ..last(1, 130) };
    aggregate.finish(&end);
    let expected = [
        (RAN, State::Running, 1, 10, 20),
        (WAITED, State::Waiting, 1, 0, 52),
        (WAITED, State::Gvl, 0, 0, 8),
        // The last tick was here, so the rest of the CPU time belongs here too.
        (COLLECTED, State::Gc, 1, 20, 10),
    ];
    let mut expected = expected.to_vec();
    expected.sort();
    let mut seen = rows(aggregate);
    seen.sort();
    assert_eq!(seen, expected);
}

#[test]
fn a_cpu_session_ignores_wall_clocks() {
    let mut aggregate = Aggregate::new(CPU, 0, true, [at(1, 100)]);
    aggregate.record(Kind::Wait, &measured(State::Waiting, 111, [13, 50, 7, 0]), WAITED);
    aggregate.record(GC, &measured(State::Gc, 115, [13, 50, 7, 9]), COLLECTED);
    aggregate.record(TICKED_GC, &measured(State::Gc, 120, [13, 50, 7, 9]), COLLECTED);
    aggregate.record(Kind::Tick, &measured(State::Waiting, 130, [13, 50, 7, 9]), WAITED);
    aggregate.finish(&Header { walls: walls([20, 50, 7, 9]), ..last(1, 130) });
    let cpu_only: Vec<_> = rows(aggregate).into_iter().map(|it| (it.0, it.2, it.3)).collect();
    assert_eq!(cpu_only, [(WAITED, 1, 10), (COLLECTED, 1, 20)]);
}

#[test]
fn a_tick_without_the_gvl_has_no_wall_time() {
    let wall = Measures { wall: true, ..Measures::NONE };
    let mut aggregate = Aggregate::new(wall, 0, true, [at(1, 100)]);
    aggregate.record(Kind::Tick, &measured(State::Waiting, 120, [5, 50, 0, 0]), WAITED);
    aggregate.record(Kind::Tick, &measured(State::Running, 130, [8, 90, 0, 0]), RAN);
    let seen = rows(aggregate);
    assert_eq!(seen.iter().map(|it| (it.0, it.4)).collect::<Vec<_>>(), [(RAN, 8)]);
}

proptest! {
    /// Law 1 of the wall clock: whatever is recorded, in whatever order, each part has its own sum.
    #[test]
    fn each_part_adds_up_to_its_clock(
        steps in prop::collection::vec((0usize..4, 0u64..1000, 0usize..7), 0..300),
    ) {
        let mut aggregate = Aggregate::new(BOTH, 0, true, [at(1, 0)]);
        let (mut cpu_ns, mut parts) = (0, [0u64; 4]);
        for (part, took, record) in steps {
            parts[part] += took;
            cpu_ns += if part == 1 { 0 } else { took };
            let (kind, state, stack) = [
                (Kind::Tick, State::Running, RAN),
                (Kind::Tick, State::Waiting, WAITED),
                (Kind::Wait, State::Waiting, WAITED),
                (GC, State::Gc, COLLECTED),
                (TICKED_GC, State::Gc, COLLECTED),
                (Kind::LabelSwitch, State::Running, None),
                (Kind::WaitExtension, State::Running, None),
            ][record];
            aggregate.record(kind, &measured(state, cpu_ns, parts), stack);
        }
        aggregate.finish(&Header { walls: walls(parts), ..last(1, cpu_ns) });
        let weights = aggregate.into_weights();
        let states = [State::Running, State::Waiting, State::Gvl, State::Gc];
        for (state, part) in states.into_iter().zip(parts) {
            let of = |(key, it): &(Key, RowSums)| if key.state == state { it.wall_ns } else { 0 };
            prop_assert_eq!(weights.iter().map(of).sum::<u64>(), part);
        }
        prop_assert_eq!(weights.iter().map(|(_, it)| it.cpu_ns).sum::<u64>(), cpu_ns);
    }
}

#[test]
fn a_wait_seen_from_its_start_gets_all_its_time() {
    let mut aggregate = Aggregate::new(BOTH, 0, true, [at(1, 100)]);
    // If no wait was seen yet, the time goes to the next one.
    aggregate.record(Kind::WaitExtension, &measured(State::Running, 100, [0, 10, 0, 0]), None);
    aggregate.record(Kind::Wait, &measured(State::Waiting, 100, [0, 20, 0, 0]), WAITED);
    aggregate.record(Kind::WaitExtension, &measured(State::Running, 110, [5, 70, 0, 0]), None);
    aggregate.record(Kind::Tick, &measured(State::Running, 110, [10, 75, 0, 0]), RAN);
    assert_eq!(rows(aggregate), [(RAN, State::Running, 1, 10, 10), (WAITED, State::Waiting, 1, 0, 70)]);
}

#[test]
fn a_new_thread_waits_for_the_gvl_from_the_session_start() {
    let mut aggregate = Aggregate::new(BOTH, 1_000, true, []);
    let first = Header { monotonic_ns: 1_500, ..measured(State::Waiting, 5, [20, 0, 700, 0]) };
    aggregate.record(Kind::Wait, &first, WAITED);
    let end = Header { walls: walls([100, 0, 700, 0]), monotonic_ns: 1_580, ..last(1, 85) };
    aggregate.finish(&end);
    // Created at 780, the thread had waited for 220 before we looked.
    let states: Vec<_> = rows(aggregate).into_iter().map(|it| (it.1, it.3, it.4)).collect();
    assert_eq!(states, [(State::Running, 80, 100), (State::Gvl, 0, 480)]);
}
