//! The clock, with numbers for the events.

use super::*;
use ::std::{assert, assert_eq};

fn on(interval_ns: u64) -> WallClock {
    let clock = WallClock::new();
    clock.turn_on(100, interval_ns, true);
    clock
}

fn parts(clock: &WallClock, now_ns: u64) -> [u64; 4] {
    let walls = clock.read(now_ns);
    [walls.running_ns, walls.waiting_ns, walls.gvl_ns, walls.gc_ns + walls.gc_off_cpu_ns]
}

#[test]
fn parts_always_add_up_to_the_total() {
    let clock = on(1_000_000);
    clock.suspend(110);
    assert_eq!(parts(&clock, 115), [10, 5, 0, 0]);
    clock.ready(130);
    assert_eq!(parts(&clock, 135), [10, 20, 5, 0]);
    clock.resume(140, 0);
    assert_eq!(parts(&clock, 150), [20, 20, 10, 0]);
    clock.enter_gc(160, 1_000);
    clock.exit_gc(170, 1_010);
    assert_eq!(parts(&clock, 170), [30, 20, 10, 10]);
    clock.turn_off(180);
    assert_eq!(parts(&clock, 999), [40, 20, 10, 10]);
    clock.turn_on(1_000, 5, false);
    assert_eq!(parts(&clock, 1_003), [40, 23, 10, 10]);
}

#[test]
fn blocking_twice_implies_running_in_between() {
    let clock = on(1);
    clock.suspend(110);
    clock.suspend(120);
    clock.ready(125);
    clock.resume(125, 0);
    assert_eq!(parts(&clock, 125), [20, 5, 0, 0]);
}

#[test]
fn a_block_without_ready_event_was_a_wait() {
    let clock = WallClock::new();
    clock.turn_on(100, 1, false);
    clock.resume(150, 0);
    assert_eq!(parts(&clock, 150), [0, 50, 0, 0]);
}

#[test]
fn the_start_of_a_wait_is_known_if_the_wait_was_measured() {
    let clock = WallClock::new();
    clock.turn_on(100, 1, false);
    assert_eq!(clock.doing(), (State::Waiting, 100, true));
    clock.ready(120);
    assert_eq!(clock.doing(), (State::Gvl, 120, false));
    clock.resume(150, 0);
    assert_eq!(clock.doing(), (State::Running, 0, false));
    clock.suspend(160);
    assert_eq!(clock.doing(), (State::Waiting, 160, false));
}

#[test]
fn a_tick_tells_who_had_the_gvl_if_it_fell_into_a_wait_for_it() {
    let clock = on(100_000);
    let waited = |since_ns, tick_ns| {
        clock.suspend(900);
        clock.ready(since_ns);
        let due = clock.resume(1_000, tick_ns);
        (due.ready_ns, due.ticked)
    };
    assert_eq!(waited(950, 950), (950, true));
    assert_eq!(waited(950, 949), (950, false));
    clock.suspend(2_000);
    let due = clock.resume(2_100, 2_050);
    assert_eq!((due.ready_ns, due.ticked), (0, false), "it has waited, but not for the GVL");
}

#[test]
fn a_gc_is_divided_into_the_time_with_a_cpu_and_without() {
    let clock = on(1_000_000);
    clock.enter_gc(150, 1_000);
    clock.exit_gc(180, 1_012);
    let walls = clock.read(200);
    assert_eq!((walls.running_ns, walls.gc_ns, walls.gc_off_cpu_ns), (70, 12, 18));
    clock.turn_off(200);
    clock.turn_on(300, 1_000_000, true);
    assert_eq!(clock.read(300), walls);
}

#[test]
fn the_end_of_a_gc_without_a_beginning_is_ignored() {
    let clock = on(1);
    assert!(!clock.exit_gc(180, 1_000_000));
    assert_eq!(parts(&clock, 180), [80, 0, 0, 0]);
}

#[test]
fn gc_time_that_a_record_leaves_is_among_running() {
    let clock = on(1_000_000_000);
    clock.enter_gc(150, 1_000);
    clock.exit_gc(180, 1_030);
    let now = clock.read(200);
    let record = clock.attributed(&now);
    assert_eq!((now.running_ns, now.gc_ns), (70, 30));
    assert_eq!((record.running_ns, record.gc_ns), (100, 0));
}
