use super::*;
use ::std::prelude::rust_2021::*;
use ::std::{assert, assert_eq, vec};

const MS: u64 = 1_000_000;
/// The CPU time that a tick takes from a waiting thread.
const TICK_NS: u64 = 12_000;

fn parts(clock: &EstimatedWallClock, now_ns: u64, cpu_ns: u64) -> [u64; 4] {
    let WallTimes { running_ns, waiting_ns, gvl_ns, gc_ns, .. } = clock.read(now_ns, cpu_ns);
    [running_ns, waiting_ns, gvl_ns, gc_ns]
}

#[test]
fn parts_always_add_up_to_the_total() {
    let clock = EstimatedWallClock::new();
    assert_eq!(parts(&clock, 90, 7), [0, 0, 0, 0]);
    clock.turn_on(100, 1_000, MS);
    assert_eq!(parts(&clock, 110, 1_004), [4, 6, 0, 0]);
    // The two clocks are not read at the same instant.
    assert_eq!(parts(&clock, 110, 1_012), [10, 0, 0, 0]);
    clock.turn_off(130, 1_010);
    assert_eq!(parts(&clock, 500, 1_400), [10, 20, 0, 0]);
    clock.turn_on(1_000, 1_500, MS);
    assert_eq!(parts(&clock, 1_005, 1_501), [11, 24, 0, 0]);
    clock.end(1_006, None);
    clock.turn_on(2_000, 2_000, MS);
    assert!(!clock.is_on());
    assert_eq!(parts(&clock, 3_000, 3_000).iter().sum::<u64>(), 36);
}

#[test]
fn gc_gets_the_time_since_the_last_record() {
    let clock = EstimatedWallClock::new();
    clock.turn_on(100, 0, MS);
    let walls = clock.read(150, 20);
    clock.commit(&walls, clock.classify(&walls, false), 20, 0);
    let mut walls = clock.read(190, 50);
    clock.fold(&mut walls);
    assert_eq!((walls.running_ns, walls.gc_ns), (20, 30));
    assert_eq!(parts(&clock, 200, 55), [25, 45, 0, 30]);
}

#[test]
fn gc_gets_no_time_from_before_the_session() {
    let clock = EstimatedWallClock::new();
    clock.turn_on(100, 0, MS);
    let before = clock.read(150, 40);
    clock.apportion(&before);
    let mut walls = clock.read(160, 47);
    clock.fold(&mut walls);
    assert_eq!((walls.running_ns, walls.gc_ns), (40, 7), "only what ran since");
}

/// A thread that repeats `program` for ever: each step waits or runs for some time. The thread is polled once
/// per interval, and the results of the ticks are added up as a session does.
struct World {
    clock: EstimatedWallClock,
    program: Vec<(bool, u64)>,
    /// The position of the thread in the program, and the time left there.
    place: usize,
    left_ns: u64,
    now_ns: u64,
    cpu_ns: u64,
    sleeps: u64,
    ticks: u64,
    /// The waiting and running time by place in the program, and the last wait.
    attributed: Vec<[u64; 2]>,
    attributed_ns: [u64; 2],
    last_wait: Option<usize>,
}

impl World {
    fn new(program: &[(bool, u64)]) -> Self {
        let clock = EstimatedWallClock::new();
        clock.turn_on(1, 0, MS);
        Self {
            clock,
            place: 0,
            left_ns: program[0].1,
            now_ns: 1,
            cpu_ns: 0,
            sleeps: 0,
            ticks: 0,
            attributed: vec![[0, 0]; program.len()],
            attributed_ns: [0, 0],
            last_wait: None,
            program: program.to_vec(),
        }
    }

    fn pass(&mut self, mut ns: u64) {
        while ns > 0 {
            let step_ns = ns.min(self.left_ns);
            self.now_ns += step_ns;
            self.cpu_ns += if self.program[self.place].0 { 0 } else { step_ns };
            (ns, self.left_ns) = (ns - step_ns, self.left_ns - step_ns);
            if self.left_ns == 0 {
                self.place = (self.place + 1) % self.program.len();
                self.left_ns = self.program[self.place].1;
                self.sleeps += u64::from(self.program[self.place].0);
            }
        }
    }

    fn wait_was(&mut self, place: Option<usize>, waiting_ns: u64) {
        let more_ns = waiting_ns.saturating_sub(self.attributed_ns[0]);
        if let Some(place) = place {
            self.attributed[place][0] += more_ns;
            self.attributed_ns[0] += more_ns;
        }
    }

    fn poll(&mut self) {
        if !self.clock.poll(self.now_ns, self.cpu_ns) {
            return;
        }
        self.ticks += 1;
        let (walls, waits) = (self.clock.read(self.now_ns, self.cpu_ns), self.program[self.place].0);
        let it = self.clock.classify(&walls, waits);
        assert_eq!(it.waits, waits);
        if let Some(waiting_ns) = it.before_ns {
            self.wait_was(self.last_wait, waiting_ns);
        }
        if it.waits || it.starved {
            self.wait_was(Some(self.place), walls.waiting_ns);
            self.last_wait = Some(self.place);
        }
        if !it.waits {
            self.attributed[self.place][1] += walls.running_ns - self.attributed_ns[1];
            self.attributed_ns[1] = walls.running_ns;
        }
        let committed_ns = self.cpu_ns + if waits { TICK_NS / 2 } else { 0 };
        self.clock.commit(&walls, it, committed_ns, self.sleeps);
        if waits {
            // The time of the handler, and of going to sleep again.
            self.cpu_ns += TICK_NS;
            self.now_ns += TICK_NS;
            self.sleeps += 1;
        }
    }

    /// Returns the shares of waiting and running time, by place, after `polls` polls at random times.
    fn shares(program: &[(bool, u64)], polls: u64) -> (Self, Vec<f64>) {
        let mut world = Self::new(program);
        let (mut chance, mut slot_ns) = (42, 0);
        for _ in 0..polls {
            chance = crate::rng::after(chance);
            let then_ns = slot_ns + chance % MS;
            world.pass(then_ns.saturating_sub(world.now_ns));
            world.poll();
            slot_ns += MS;
        }
        let walls = world.clock.read(world.now_ns, world.cpu_ns);
        world.wait_was(world.last_wait, walls.waiting_ns);
        let sum = |kind: usize| world.attributed.iter().map(|it| it[kind]).sum::<u64>().max(1) as f64;
        let sums = [sum(0), sum(1)];
        let share = |(place, it): (usize, &[u64; 2])| {
            let kind = usize::from(!program[place].0);
            it[kind] as f64 / sums[kind]
        };
        let shares = world.attributed.iter().enumerate().map(share).collect();
        (world, shares)
    }
}

const WAITS: bool = true;
const RUNS: bool = false;

#[test]
fn shares_are_unbiased_at_any_rhythm() {
    let programs: [&[(bool, u64)]; 7] = [
        &[(WAITS, 100 * MS), (RUNS, 20_000), (WAITS, 2 * MS), (RUNS, 20_000)],
        &[(WAITS, 300_000), (RUNS, 15_000), (WAITS, 300_000), (RUNS, 30_000)],
        &[(WAITS, MS), (RUNS, 15_000), (WAITS, MS), (RUNS, 200_000)],
        &[(WAITS, 2_500_000), (RUNS, 15_000), (WAITS, 500_000), (RUNS, 15_000)],
        &[(WAITS, 500_000), (RUNS, 15_000), (WAITS, 2 * MS), (RUNS, 100_000)],
        &[(WAITS, 700_000), (RUNS, 300_000)],
        &[(WAITS, 5 * MS), (RUNS, 2 * MS), (RUNS, 3 * MS)],
    ];
    for program in programs {
        let (_, shares) = World::shares(program, 100_000);
        for (place, (kind, ns)) in program.iter().enumerate() {
            let like = program.iter().filter(|(other, _)| other == kind).map(|(_, ns)| ns).sum::<u64>();
            if *ns < 2 * TICK_NS {
                continue; // hidden by the overhead of a tick
            }
            let right = *ns as f64 / like as f64;
            assert!(
                (shares[place] - right).abs() < 0.05,
                "{place} of {program:?}: {} {right}",
                shares[place]
            );
        }
    }
}

#[test]
fn ticks_for_an_idle_thread_back_off() {
    let (world, shares) = World::shares(&[(WAITS, u64::MAX)], 100_000);
    assert!(world.ticks <= 8, "{}", world.ticks);
    assert_eq!(shares, [1.0]);
}

#[test]
fn a_new_session_polls_at_once() {
    let mut world = World::new(&[(WAITS, u64::MAX)]);
    for _ in 0..50 {
        world.pass(MS);
        world.poll();
    }
    let before = world.ticks;
    world.clock.poll_anew();
    world.pass(MS);
    world.poll();
    assert_eq!(world.ticks, before + 1);
}

#[test]
fn a_dropped_tick_is_sent_again() {
    let clock = EstimatedWallClock::new();
    clock.turn_on(1, 0, MS);
    assert!(clock.poll(MS, 5_000));
    assert!(clock.poll(2 * MS, 9_000));
    assert!(clock.poll(3 * MS, 9_000));
}

#[test]
fn a_long_unexplained_wait_is_starvation() {
    let clock = EstimatedWallClock::new();
    clock.turn_on(1, 0, MS);
    let walls = WallTimes { running_ns: MS, waiting_ns: 2 * MS, ..WallTimes::default() };
    let it = clock.classify(&walls, false);
    assert!(!it.starved);
    clock.commit(&walls, it, 0, 0);
    let it = clock.classify(&WallTimes { waiting_ns: 5 * MS, ..walls }, false);
    assert!(it.starved);
}
