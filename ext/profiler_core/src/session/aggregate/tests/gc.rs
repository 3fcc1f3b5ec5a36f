//! Running and GC of a thread that now and then has no CPU, with the clocks and records of the extension.

use super::*;
use crate::rng;
use crate::sampling::wall_clock::WallClock;

const WALLS: Measures = Measures { runnable: true, ..BOTH };
const INTERVAL_NS: u64 = 1_000_000;
/// How long other processes have the CPU, on average.
const TURN_NS: u64 = 3_000_000;

const RUNNING: Option<StackId> = Some(StackId(1));
const SWEEPING: Option<StackId> = Some(StackId(2));

/// A thread that shares its CPU with other processes, and its true times.
struct Thread {
    bits: u64,
    clock: WallClock,
    aggregate: Aggregate,
    now_ns: u64,
    cpu_ns: u64,
    /// The CPU clock when other processes get the CPU, and at the next tick.
    preempted_ns: u64,
    tick_ns: u64,
    collecting: bool,
    /// The CPU clock at the last tick in the current GC.
    ticked_cpu_ns: Option<u64>,
    /// The CPU time used and the time without a CPU: of running, and of GC.
    used_ns: [u64; 2],
    off_ns: [u64; 2],
}

impl Thread {
    fn new(seed: u64) -> Self {
        let clock = WallClock::new();
        clock.turn_on(1, INTERVAL_NS, true);
        let aggregate = Aggregate::new(WALLS, 0, true, [at(1, 0)]);
        let mut thread = Self {
            bits: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            clock,
            aggregate,
            now_ns: 1,
            cpu_ns: 0,
            preempted_ns: 0,
            tick_ns: INTERVAL_NS,
            collecting: false,
            ticked_cpu_ns: None,
            used_ns: [0; 2],
            off_ns: [0; 2],
        };
        thread.preempted_ns = thread.about(TURN_NS);
        thread
    }

    fn about(&mut self, mean_ns: u64) -> u64 {
        self.bits = rng::after(self.bits);
        rng::exponential_ns(self.bits, mean_ns)
    }

    fn header(&self, state: State, walls: WallTimes) -> Header {
        let runnable_ns = self.off_ns.iter().sum();
        Header { state, walls, runnable_ns, ..header(1, self.cpu_ns, self.now_ns) }
    }

    /// Uses the CPU for that time, with ticks and preemptions.
    fn compute(&mut self, ns: u64) {
        let end_ns = self.cpu_ns + ns;
        let part = usize::from(self.collecting);
        self.used_ns[part] += ns;
        while self.cpu_ns < end_ns {
            let next_ns = end_ns.min(self.preempted_ns).min(self.tick_ns);
            self.now_ns += next_ns - self.cpu_ns;
            self.cpu_ns = next_ns;
            if next_ns == self.preempted_ns {
                let turn_ns = self.about(TURN_NS);
                self.now_ns += turn_ns;
                self.off_ns[part] += turn_ns;
                self.preempted_ns += self.about(TURN_NS);
            }
            if next_ns == self.tick_ns {
                self.tick_ns += INTERVAL_NS;
                self.tick();
            }
        }
    }

    fn tick(&mut self) {
        if self.collecting {
            self.ticked_cpu_ns = Some(self.cpu_ns);
            return;
        }
        let header = self.header(State::Running, self.clock.read(self.now_ns));
        self.aggregate.record(Kind::Tick, &header, RUNNING);
    }

    fn collect(&mut self, ns: u64) {
        self.clock.enter_gc(self.now_ns, self.cpu_ns);
        self.collecting = true;
        self.compute(ns);
        self.collecting = false;
        let due = self.clock.exit_gc(self.now_ns, self.cpu_ns);
        let ticked_cpu_ns = self.ticked_cpu_ns.take();
        if due || ticked_cpu_ns.is_some() {
            let walls = self.clock.attributed(&self.clock.read(self.now_ns));
            let deferred_cpu_ns = self.cpu_ns - ticked_cpu_ns.unwrap_or(self.cpu_ns);
            let header = Header { deferred_cpu_ns, ..self.header(State::Gc, walls) };
            let kind = if ticked_cpu_ns.is_some() { TICKED_GC } else { GC };
            self.aggregate.record(kind, &header, SWEEPING);
        }
    }

    /// Ends the thread. Returns its wall clock time in a state at a stack.
    fn finish(&mut self) -> impl Fn(State, Option<StackId>) -> u64 {
        let end = self.header(State::Running, self.clock.read(self.now_ns));
        self.aggregate.finish(&end);
        let rows = self.aggregate.clone().into_weights();
        move |state, stack| {
            let of =
                |(key, it): &(Key, RowSums)| (key.state == state && key.stack == stack).then_some(it.wall_ns);
            rows.iter().filter_map(of).sum()
        }
    }
}

/// Returns a thread that runs, and sweeps a little after each run. Now and then it collects for longer.
fn worked(seed: u64) -> Thread {
    let mut thread = Thread::new(seed);
    for step in 1..=400 {
        let (run_ns, sweep_ns, mark_ns) =
            (thread.about(100_000), thread.about(40_000), thread.about(4_000_000));
        thread.compute(run_ns);
        thread.collect(if step % 100 == 0 { mark_ns } else { sweep_ns });
    }
    thread
}

#[test]
fn running_and_gc_have_their_own_cpu_time_whichever_lacked_a_cpu() {
    for seed in 0..100 {
        let mut thread = worked(seed);
        let wall = thread.finish();
        let seen = [wall(State::Running, RUNNING), wall(State::Gc, SWEEPING)];
        assert_eq!(seen, thread.used_ns, "seed {seed}");
    }
}

#[test]
fn a_thread_waits_for_a_cpu_where_it_lacked_one() {
    for seed in 0..100 {
        let mut thread = worked(seed);
        let wall = thread.finish();
        let seen = [wall(State::Runnable, RUNNING), wall(State::Runnable, SWEEPING)];
        assert_eq!(seen, thread.off_ns, "seed {seed}");
    }
}
