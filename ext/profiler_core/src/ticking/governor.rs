//! The governor, which keeps the overhead of sessions below a share of the process's own CPU time by widening
//! their intervals.
//!
//! The share holds for the whole, not at each instant. Overhead beyond it is a debt, which is paid back over
//! the next seconds of CPU time. An idle process uses almost no CPU time, but our threads still wake up a few
//! times a second. So if the process used less than a tenth of the time that has passed, the share is of that
//! tenth.

/// The overhead of a tick, ns, that is assumed for the first interval. It is twice the usual overhead on a
/// guest, as intervals that are too long can be shortened at no cost.
const FIRST_TICK_NS: f64 = 70_000.0;
/// The CPU time within which a debt is paid back, ns. This also limits the size of a debt.
const HORIZON_NS: f64 = 10e9;
/// The minimum time between two decisions, ns; a tenth of it is the minimum CPU time that a decision is based
/// on.
const STEP_NS: u64 = 200_000_000;
/// The fraction of the share to aim at, as the first second may have more overhead.
const AIM: f64 = 0.95;
/// The minimum fraction of the share that is left for samples while a debt is paid back.
const MIN_FRACTION: f64 = 0.1;
/// The longest interval, ns.
const LONGEST_NS: u64 = 1_000_000_000;
/// Relative changes that are too small to be worth a round over all threads.
const DEAD_BAND: std::ops::Range<f64> = 0.87..1.15;

/// Readings of clocks, ns since the process began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readings {
    /// The monotonic clock.
    pub monotonic_ns: u64,
    /// The CPU clock of the process.
    pub process_ns: u64,
    /// The CPU time of the profiler: ticks, hooks, threads.
    pub own_ns: u64,
}

/// The governor of the process.
#[derive(Clone, Copy, Debug)]
pub struct Governor {
    /// The share to aim at.
    share: f64,
    /// The factor by which intervals are longer than requested.
    widening: f64,
    /// The CPU time used beyond the share, ns.
    debt_ns: f64,
    last: Readings,
}

impl Default for Governor {
    fn default() -> Self {
        Self::new()
    }
}

impl Governor {
    /// Creates a governor without a debt, for future sessions.
    #[must_use]
    pub const fn new() -> Self {
        let last = Readings { monotonic_ns: 0, process_ns: 0, own_ns: 0 };
        Self { share: 1.0, widening: 1.0, debt_ns: 0.0, last }
    }

    /// Governs sessions with `share` as the largest share from now on; the finest of their intervals is
    /// `interval_ns`. Time that earlier sessions used beyond their share remains a debt.
    pub fn begin(&mut self, share: f64, interval_ns: u64, now: Readings) {
        self.share = share * AIM;
        self.widening =
            (FIRST_TICK_NS / (interval_ns.max(1) as f64 * self.allowed())).clamp(1.0, most(interval_ns));
        self.last = now;
    }

    /// Stops governing for now, and accounts for what the sessions used.
    pub fn end(&mut self, now: Readings) {
        if let Some((own_ns, base_ns)) = self.since_last(now) {
            self.account(own_ns, base_ns);
        }
        self.last = now;
    }

    /// Returns the share that is allowed while a debt is paid back.
    fn allowed(&self) -> f64 {
        (self.share - self.debt_ns / HORIZON_NS).max(self.share * MIN_FRACTION)
    }

    /// Returns the time that we used since the last readings, and the time of which it is a share, ns. `None`
    /// if clocks have restarted.
    fn since_last(&self, now: Readings) -> Option<(f64, f64)> {
        let process_ns = now.process_ns.checked_sub(self.last.process_ns)?;
        let own_ns = now.own_ns.checked_sub(self.last.own_ns)?;
        let elapsed_ns = now.monotonic_ns.saturating_sub(self.last.monotonic_ns);
        Some((own_ns as f64, process_ns.max(elapsed_ns / 10) as f64))
    }

    /// Adds the overhead beyond the share to the debt. Savings are forgotten; otherwise a quiet night would
    /// pay for an expensive morning.
    fn account(&mut self, own_ns: f64, base_ns: f64) {
        self.debt_ns = (self.debt_ns + own_ns - self.share * base_ns).clamp(0.0, self.share * HORIZON_NS);
    }

    /// Returns the interval to use instead of a requested one, ns.
    #[must_use]
    pub fn widened(&self, interval_ns: u64) -> u64 {
        if interval_ns == 0 {
            return 0;
        }
        ((interval_ns as f64 * self.widening) as u64).clamp(interval_ns, LONGEST_NS.max(interval_ns))
    }

    /// Takes the current readings; the finest requested interval is `interval_ns`. Returns true if intervals
    /// have changed.
    pub fn step(&mut self, now: Readings, interval_ns: u64) -> bool {
        // The clocks of a forked child start again.
        let Some((own_ns, base_ns)) = self.since_last(now) else {
            self.last = now;
            return false;
        };
        let elapsed_ns = now.monotonic_ns.saturating_sub(self.last.monotonic_ns);
        if elapsed_ns < STEP_NS || base_ns < (STEP_NS / 10) as f64 {
            return false;
        }
        self.last = now;
        self.account(own_ns, base_ns);
        // Decrease slowly, as the next seconds may be like the last ones.
        let change = (own_ns / base_ns / self.allowed()).clamp(0.7, 8.0);
        let widening = (self.widening * change).clamp(1.0, most(interval_ns));
        if DEAD_BAND.contains(&(widening / self.widening)) && widening > 1.0 {
            return false;
        }
        let before = std::mem::replace(&mut self.widening, widening);
        before.to_bits() != widening.to_bits()
    }
}

/// Returns the largest widening of an interval.
fn most(interval_ns: u64) -> f64 {
    (LONGEST_NS as f64 / interval_ns.max(1) as f64).max(1.0)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: u64 = 1_000_000_000;

    fn governor(share: f64, interval_ns: u64, now: Readings) -> Governor {
        let mut governor = Governor::new();
        governor.begin(share, interval_ns, now);
        governor
    }

    /// A process with some busy threads, in which a tick takes `tick_ns` and our threads take `fixed` of
    /// the time. It makes a step each quarter of a second.
    struct World {
        threads: f64,
        tick_ns: f64,
        fixed: f64,
        interval_ns: u64,
        now: Readings,
    }

    impl World {
        fn new(threads: f64, tick_ns: f64, interval_ns: u64) -> Self {
            Self { threads, tick_ns, fixed: 0.0005, interval_ns, now: Readings::default() }
        }

        /// Advances the world by a quarter of a second.
        fn run(&mut self, governor: &mut Governor) {
            let passed_ns = SECOND as f64 / 4.0;
            let ticks = self.threads * passed_ns / governor.widened(self.interval_ns) as f64;
            self.now.monotonic_ns += passed_ns as u64;
            self.now.process_ns += (self.threads * passed_ns) as u64;
            self.now.own_ns += (ticks * self.tick_ns + self.fixed * passed_ns) as u64;
            governor.step(self.now, self.interval_ns);
        }

        fn share(&self) -> f64 {
            self.now.own_ns as f64 / self.now.process_ns as f64
        }
    }

    proptest! {
        #[test]
        fn the_share_is_kept_over_a_minute(
            threads in 1_u32..50,
            tick_ns in 3_000.0..200_000.0_f64,
            interval_ns in 50_000_u64..20_000_000,
            share in 0.005..0.1_f64,
        ) {
            let mut world = World::new(f64::from(threads), tick_ns, interval_ns);
            let mut governor = governor(share, interval_ns, world.now);
            (0..240).for_each(|_| world.run(&mut governor));
            prop_assert!(world.share() < share, "{} of {share}", world.share());
            // The share is used: at least half of it, unless the requested interval needs less.
            let requested = tick_ns / interval_ns as f64;
            prop_assert!(world.share() > share.min(requested) * 0.5, "{} of {share}", world.share());
        }
    }

    #[test]
    fn a_cheap_session_ticks_as_requested() {
        let mut world = World::new(1.0, 30_000.0, 10_000_000);
        let mut governor = governor(0.01, world.interval_ns, world.now);
        (0..40).for_each(|_| world.run(&mut governor));
        assert_eq!(governor.widened(world.interval_ns), world.interval_ns);
    }

    #[test]
    fn ticks_that_become_expensive_become_seldom_and_come_back() {
        let mut world = World::new(2.0, 30_000.0, 10_000_000);
        let mut governor = governor(0.01, world.interval_ns, world.now);
        (0..40).for_each(|_| world.run(&mut governor));
        world.tick_ns = 1_000_000.0; // stacks of ten thousand frames
        let before = world.now;
        (0..120).for_each(|_| world.run(&mut governor));
        let share =
            (world.now.own_ns - before.own_ns) as f64 / (world.now.process_ns - before.process_ns) as f64;
        assert!(share < 0.012, "{share}");
        assert!(governor.widened(world.interval_ns) > 50_000_000);
        world.tick_ns = 30_000.0;
        (0..240).for_each(|_| world.run(&mut governor));
        assert_eq!(governor.widened(world.interval_ns), world.interval_ns);
    }

    #[test]
    fn an_idle_process_is_sampled_all_the_same() {
        let mut world = World::new(0.001, 30_000.0, 10_000_000);
        let mut governor = governor(0.01, world.interval_ns, world.now);
        (0..400).for_each(|_| world.run(&mut governor));
        assert_eq!(governor.widened(world.interval_ns), world.interval_ns);
    }

    #[test]
    fn a_forked_child_begins_anew() {
        let mut governor = governor(
            0.01,
            10_000_000,
            Readings { monotonic_ns: 5 * SECOND, process_ns: 4 * SECOND, own_ns: SECOND / 30 },
        );
        let child = Readings { monotonic_ns: 6 * SECOND, process_ns: 1_000, own_ns: 0 };
        assert!(!governor.step(child, 10_000_000));
        assert_eq!(governor.last, child);
    }

    #[test]
    fn short_sessions_keep_the_share_together() {
        let (mut governor, mut now) = (Governor::new(), Readings::default());
        for _ in 0..1_000 {
            governor.begin(0.01, 100_000, now);
            // For a tenth of a second a tick takes ten times the expected time, and half a second passes
            // between two sessions.
            let ticks = 100_000_000.0 / governor.widened(100_000) as f64;
            now.own_ns += (ticks * 350_000.0) as u64;
            now.process_ns += 100_000_000;
            now.monotonic_ns += 100_000_000;
            governor.end(now);
            now.monotonic_ns += 500_000_000;
        }
        let share = now.own_ns as f64 / now.process_ns as f64;
        assert!(share < 0.02, "{share}, where each alone would take 0.1");
    }

    #[test]
    fn a_debt_is_paid_back_within_seconds_whoever_made_it() {
        let mut world = World::new(1.0, 30_000.0, 10_000_000);
        let mut governor = governor(0.01, world.interval_ns, world.now);
        // Another session takes a third of the time for a minute.
        for _ in 0..240 {
            world.now.own_ns += SECOND / 12;
            world.run(&mut governor);
        }
        assert!(governor.widened(world.interval_ns) > 100_000_000);
        (0..120).for_each(|_| world.run(&mut governor)); // half a minute
        assert!(governor.widened(world.interval_ns) < 20_000_000);
    }
}
