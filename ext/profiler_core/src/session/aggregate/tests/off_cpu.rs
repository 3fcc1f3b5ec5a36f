//! Time without a CPU: runnable and blocked.

use super::*;

const APART: Measures = Measures { runnable: true, ..BOTH };

/// Returns the wall clock time of a stack in three states: running, runnable, blocked.
fn wall(aggregate: &Aggregate, stack: u32) -> [u64; 3] {
    [State::Running, State::Runnable, State::Blocked].map(|state| {
        let rows = aggregate.clone().into_weights().into_iter();
        rows.filter(|(key, _)| key.state == state && key.stack == Some(StackId(stack)))
            .map(|(_, weight)| weight.wall_ns)
            .sum()
    })
}

/// Returns a header of running code with the thread's clocks: CPU, running, GC, and runnable.
fn running(cpu_ns: u64, running_ns: u64, gc_ns: u64, runnable_ns: u64) -> Header {
    let walls = WallTimes { running_ns, gc_ns, ..WallTimes::default() };
    Header { walls, runnable_ns, ..header(1, cpu_ns, 1) }
}

fn started() -> Aggregate {
    Aggregate::new(APART, 0, true, [at(1, 100)])
}

/// Records the end of a block.
fn block(aggregate: &mut Aggregate, header: &Header, stack: u32) {
    let header = Header { state: State::Blocked, ..*header };
    aggregate.record(Kind::Block { whole_us: 50, seen_us: 0 }, &header, Some(StackId(stack)));
}

#[test]
fn running_without_a_cpu_is_runnable() {
    let mut aggregate = started();
    aggregate.record(Kind::Tick, &running(130, 30, 0, 0), Some(StackId(7)));
    assert_eq!(wall(&aggregate, 7), [30, 0, 0]);
    aggregate.record(Kind::Tick, &running(140, 70, 0, 30), Some(StackId(8)));
    assert_eq!(wall(&aggregate, 8), [10, 30, 0]);
    aggregate.finish(&running(145, 85, 0, 40));
    assert_eq!(wall(&aggregate, 8), [15, 40, 0], "the rest goes to the last stack that ran");
}

#[test]
fn a_cpu_that_was_used_by_gc_is_not_runnings() {
    let mut aggregate = started();
    aggregate.record(Kind::Tick, &running(150, 30, 20, 0), Some(StackId(7)));
    assert_eq!(wall(&aggregate, 7), [30, 0, 0]);
}

/// Returns the same header, of a thread that lacked a CPU in GC for that time.
fn lacking_in_gc(header: Header, gc_off_cpu_ns: u64) -> Header {
    Header { walls: WallTimes { gc_off_cpu_ns, ..header.walls }, ..header }
}

#[test]
fn gc_without_a_cpu_is_runnable_there() {
    let mut aggregate = started();
    // Running lacked a CPU for 20, and GC for 30.
    let header = lacking_in_gc(running(120, 30, 10, 50), 30);
    aggregate.record(GC, &Header { state: State::Gc, ..header }, Some(StackId(7)));
    assert_eq!(wall(&aggregate, 7), [0, 30, 0]);
    aggregate.record(Kind::Tick, &header, Some(StackId(8)));
    assert_eq!(wall(&aggregate, 8), [10, 20, 0]);
}

#[test]
fn a_tick_leaves_the_runnable_time_of_gc_to_gc() {
    let mut aggregate = started();
    let header = lacking_in_gc(running(120, 30, 10, 50), 30);
    aggregate.record(Kind::Tick, &header, Some(StackId(8)));
    assert_eq!(wall(&aggregate, 8), [10, 20, 0]);
    aggregate.record(GC, &Header { state: State::Gc, ..header }, Some(StackId(7)));
    assert_eq!(wall(&aggregate, 7), [0, 30, 0]);
}

#[test]
fn a_gc_without_a_record_was_runnable_where_the_thread_ran() {
    let mut aggregate = started();
    let late = lacking_in_gc(running(110, 10, 0, 40), 40);
    aggregate.record(Kind::Tick, &late, Some(StackId(7)));
    assert_eq!(wall(&aggregate, 7), [10, 0, 0]);
    aggregate.finish(&late);
    assert_eq!(wall(&aggregate, 7), [10, 40, 0]);
}

#[test]
fn a_cpu_that_was_used_without_the_gvl_hides_runnable_and_makes_none() {
    let mut aggregate = started();
    let waiting = Header { state: State::Waiting, ..running(180, 30, 0, 0) };
    aggregate.record(Kind::Tick, &waiting, Some(StackId(6)));
    aggregate.record(Kind::Tick, &running(190, 60, 0, 0), Some(StackId(7)));
    assert_eq!(wall(&aggregate, 7), [60, 0, 0]);
    aggregate.record(Kind::Tick, &running(195, 80, 0, 15), Some(StackId(8)));
    assert_eq!(wall(&aggregate, 8), [5, 15, 0]);
}

#[test]
fn runnable_is_running_where_it_is_not_told_apart() {
    let mut aggregate = Aggregate::new(BOTH, 0, true, [at(1, 100)]);
    aggregate.record(Kind::Tick, &running(110, 30, 0, 0), Some(StackId(7)));
    assert_eq!(wall(&aggregate, 7), [30, 0, 0]);
}

/// Returns a header with these clocks since the start, us: CPU, running, and runnable.
fn since(cpu_us: u64, running_us: u64, runnable_us: u64) -> Header {
    running(100 + cpu_us * 1_000, running_us * 1_000, 0, runnable_us * 1_000)
}

/// Returns the same as [`wall`], us.
fn wall_us(aggregate: &Aggregate, stack: u32) -> [u64; 3] {
    wall(aggregate, stack).map(|ns| ns / 1_000)
}

#[test]
fn a_block_weighs_its_own_time_and_leaves_cpu_time_to_the_next_tick() {
    let mut aggregate = started();
    aggregate.record(Kind::Tick, &since(10, 10, 0), Some(StackId(7)));
    block(&mut aggregate, &since(15, 115, 0), 8);
    assert_eq!(wall_us(&aggregate, 8), [0, 0, 100]);
    aggregate.record(Kind::Tick, &since(20, 120, 0), Some(StackId(9)));
    assert_eq!(wall_us(&aggregate, 9), [10, 0, 0]);
    let cpu_ns: u64 = aggregate.into_weights().into_iter().map(|(_, weight)| weight.cpu_ns).sum();
    assert_eq!(cpu_ns, 20_000);
}

#[test]
fn a_block_waits_for_its_cpu_where_it_was() {
    let mut aggregate = started();
    block(&mut aggregate, &since(0, 100, 30), 8);
    aggregate.record(Kind::Tick, &since(10, 110, 30), Some(StackId(9)));
    assert_eq!([wall_us(&aggregate, 8), wall_us(&aggregate, 9)], [[0, 30, 70], [10, 0, 0]]);
}

#[test]
fn a_long_block_takes_nothing_from_short_ones() {
    let mut aggregate = started();
    aggregate.record(Kind::Tick, &since(10, 40, 0), Some(StackId(7))); // a block of 30, which was not found
    block(&mut aggregate, &since(10, 100, 0), 8); // a block of 60
    block(&mut aggregate, &since(10, 120, 0), 9); // a block of 20
    assert_eq!([wall_us(&aggregate, 8), wall_us(&aggregate, 9)], [[0, 0, 60], [0, 0, 50]]);
}

#[test]
fn a_tick_between_the_end_of_a_block_and_its_record_takes_nothing_from_it() {
    let mut aggregate = started();
    aggregate.record(Kind::Tick, &since(10, 410, 0), Some(StackId(7)));
    let late = Header { state: State::Blocked, ..since(10, 410, 0) };
    aggregate.record(Kind::Block { whole_us: 50, seen_us: 380 }, &late, Some(StackId(8)));
    assert_eq!(wall_us(&aggregate, 8), [0, 0, 400]);
}

#[test]
fn without_a_block_the_rest_is_runnable() {
    let mut aggregate = started();
    aggregate.record(Kind::Tick, &since(10, 12, 0), Some(StackId(7)));
    aggregate.finish(&since(20, 25, 0));
    assert_eq!(wall_us(&aggregate, 7), [20, 5, 0]);
}

#[test]
fn a_block_before_the_rest_gets_it() {
    let mut aggregate = started();
    block(&mut aggregate, &since(0, 60, 0), 8);
    aggregate.record(Kind::Tick, &since(5, 65, 0), Some(StackId(7)));
    aggregate.finish(&since(10, 80, 0));
    assert_eq!([wall_us(&aggregate, 7), wall_us(&aggregate, 8)], [[10, 0, 0], [0, 0, 70]]);
}

#[test]
fn a_block_that_was_not_found_goes_to_none() {
    let mut aggregate = started();
    block(&mut aggregate, &since(0, 60, 0), 8);
    aggregate.record(Kind::Tick, &since(5, 95, 0), Some(StackId(7))); // a block of 30, which was not found
    aggregate.finish(&since(10, 110, 0));
    assert_eq!([wall_us(&aggregate, 7), wall_us(&aggregate, 8)], [[10, 0, 0], [0, 0, 70]]);
    let rows = aggregate.into_weights();
    let of_none = rows.iter().filter(|(key, _)| key.stack.is_none());
    let of_none: Vec<_> = of_none.map(|(key, weight)| (key.state, weight.wall_ns)).collect();
    assert_eq!(of_none, [(State::Blocked, 30_000)]);
}

#[test]
fn deferred_cpu_time_is_for_a_later_record() {
    let mut aggregate = started();
    let tick = Header { deferred_cpu_ns: 30, ..running(140, 40, 0, 0) };
    aggregate.record(Kind::Tick, &tick, Some(StackId(7)));
    aggregate.record(Kind::Tick, &running(145, 45, 0, 0), Some(StackId(8)));
    let cpu = |stack| {
        let rows = aggregate.clone().into_weights().into_iter();
        rows.filter(|(key, _)| key.stack == Some(StackId(stack)))
            .map(|(_, weight)| weight.cpu_ns)
            .sum::<u64>()
    };
    assert_eq!([cpu(7), cpu(8)], [10, 35]);
}

proptest! {
    /// Law 1 with six parts: they add up to the wall clock, whatever is recorded, in whatever order, and with
    /// late readings.
    #[test]
    fn six_parts_add_up_to_the_wall_clock(
        steps in prop::collection::vec((0usize..6, 0u64..100, 0usize..5, any::<bool>()), 0..300),
    ) {
        let mut aggregate = started();
        let (mut cpu_ns, mut ready_ns, mut known_ns, mut parts) = (100, 0, 0, [0u64; 5]);
        for (doing, took_ns, record, read) in steps {
            // Running with a CPU, blocked, ready without a CPU, waiting, collecting with a CPU and without
            // one.
            parts[[0, 0, 0, 1, 3, 4][doing]] += took_ns;
            cpu_ns += if matches!(doing, 0 | 4) { took_ns } else { 0 };
            ready_ns += if matches!(doing, 2 | 5) { took_ns } else { 0 };
            known_ns = if read { ready_ns } else { known_ns };
            let (kind, state) = [
                (Kind::Tick, State::Running),
                (Kind::Block { whole_us: 0, seen_us: took_ns as u32 % 2 }, State::Blocked),
                (Kind::Wait, State::Waiting),
                (GC, State::Gc),
                (TICKED_GC, State::Gc),
            ][record];
            let deferred_cpu_ns = if read { cpu_ns / 7 } else { 0 };
            let header = measured(state, cpu_ns, parts[..4].try_into().unwrap());
            let header = Header { runnable_ns: known_ns, deferred_cpu_ns, ..lacking_in_gc(header, parts[4]) };
            aggregate.record(kind, &header, Some(StackId(record as u32)));
        }
        let end = lacking_in_gc(measured(State::Running, cpu_ns, parts[..4].try_into().unwrap()), parts[4]);
        aggregate.finish(&Header { runnable_ns: known_ns, ..end });
        let weights = aggregate.into_weights();
        prop_assert_eq!(weights.iter().map(|(_, it)| it.wall_ns).sum::<u64>(), parts.iter().sum::<u64>());
        prop_assert_eq!(weights.iter().map(|(_, it)| it.cpu_ns).sum::<u64>(), cpu_ns - 100);
    }
}
