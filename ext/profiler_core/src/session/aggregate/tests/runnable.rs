//! Time without a CPU.

use super::*;

const RUNNABLE: Measures = Measures { runnable: true, ..BOTH };

/// The wall clock time of a stack in these two states: running, runnable.
fn ran(aggregate: &Aggregate, stack: u32) -> [u64; 2] {
    [State::Running, State::Runnable].map(|state| {
        let rows = aggregate.clone().into_weights().into_iter();
        rows.filter(|(key, _)| key.state == state && key.stack == Some(StackId(stack)))
            .map(|(_, weight)| weight.wall_ns)
            .sum()
    })
}

fn running(cpu_ns: u64, running_ns: u64, gc_ns: u64) -> Header {
    let walls = WallTimes { running_ns, gc_ns, ..WallTimes::default() };
    Header { walls, ..header(1, cpu_ns, 1) }
}

#[test]
fn running_without_a_cpu_is_runnable() {
    let mut aggregate = Aggregate::new(RUNNABLE, 0, true, [at(1, 100)]);
    aggregate.record(Kind::Tick, &running(130, 30, 0), Some(StackId(7)));
    assert_eq!(ran(&aggregate, 7), [30, 0]);
    aggregate.record(Kind::Tick, &running(140, 70, 0), Some(StackId(8)));
    assert_eq!(ran(&aggregate, 8), [10, 30]);
    aggregate.finish(&LastClocks::of(&running(145, 85, 0)));
    assert_eq!(ran(&aggregate, 8), [15, 40], "the rest goes to the last stack that ran");
}

#[test]
fn a_cpu_that_was_used_by_gc_is_not_runnings() {
    let mut aggregate = Aggregate::new(RUNNABLE, 0, true, [at(1, 100)]);
    aggregate.record(Kind::Tick, &running(150, 30, 20), Some(StackId(7)));
    assert_eq!(ran(&aggregate, 7), [30, 0]);
}

#[test]
fn gc_without_a_cpu_is_runnable() {
    let mut aggregate = Aggregate::new(RUNNABLE, 0, true, [at(1, 100)]);
    let gc = Header { state: State::Gc, ..running(120, 10, 40) };
    aggregate.record(GC, &gc, Some(StackId(7)));
    assert_eq!(ran(&aggregate, 7), [0, 30]);
    aggregate.record(Kind::Tick, &running(120, 10, 40), Some(StackId(8)));
    assert_eq!(ran(&aggregate, 8), [10, 0]);
}

#[test]
fn gc_that_a_later_record_weighs_has_had_its_cpu() {
    let mut aggregate = Aggregate::new(RUNNABLE, 0, true, [at(1, 100)]);
    let gc = Header { state: State::Gc, ..running(150, 10, 15) };
    aggregate.record(GC, &gc, Some(StackId(7)));
    aggregate.record(Kind::Tick, &running(160, 20, 40), Some(StackId(8)));
    assert_eq!([ran(&aggregate, 7), ran(&aggregate, 8)], [[0, 0], [20, 0]]);
}

#[test]
fn a_cpu_that_was_used_without_the_gvl_hides_runnable_and_makes_none() {
    let mut aggregate = Aggregate::new(RUNNABLE, 0, true, [at(1, 100)]);
    let waiting = Header { state: State::Waiting, ..running(180, 30, 0) };
    aggregate.record(Kind::Tick, &waiting, Some(StackId(6)));
    aggregate.record(Kind::Tick, &running(190, 60, 0), Some(StackId(7)));
    assert_eq!(ran(&aggregate, 7), [60, 0]);
    aggregate.record(Kind::Tick, &running(195, 80, 0), Some(StackId(8)));
    assert_eq!(ran(&aggregate, 8), [5, 15]);
}

#[test]
fn runnable_is_running_where_it_is_not_told_apart() {
    let mut aggregate = Aggregate::new(BOTH, 0, true, [at(1, 100)]);
    aggregate.record(Kind::Tick, &running(110, 30, 0), Some(StackId(7)));
    assert_eq!(ran(&aggregate, 7), [30, 0]);
}
