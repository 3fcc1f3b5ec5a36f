//! The timers that all sessions together need, as a value.
//!
//! The extension computes a [`Plan`] whenever a session starts, pauses, resumes or stops, and applies it.
//! Each thread ticks at the finest interval of the sessions that profile it. Each session weighs its samples
//! by clocks, so ticks that are finer than it needs do no harm.

use crate::ids::ThreadId;
use crate::ticking::engine::{Engine, Trigger, WalkAt};

pub use crate::sampling::UNSAMPLED_NS;

/// The timers that one session needs. A paused session needs none.
#[derive(Clone, Copy, Debug)]
pub struct Demand<'sessions> {
    /// The interval between two samples, ns; 0 for a session that records only objects, or that measures
    /// waits and takes no samples.
    pub interval_ns: u64,
    /// Whether the session measures CPU time.
    pub cpu: bool,
    /// Whether the session measures wall clock time.
    pub wall: bool,
    /// The threads that the session profiles. `None` means all threads, including those that have not started
    /// yet.
    pub threads: Option<&'sessions [ThreadId]>,
}

impl Demand<'_> {
    fn profiles(&self, thread: ThreadId) -> bool {
        self.threads.is_none_or(|threads| threads.contains(&thread))
    }
}

/// The timers that one thread needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadPlan {
    /// The finest interval of the thread's sessions, ns; 0 for no ticks. If others wait for the GVL, it ticks
    /// as often as their sessions need.
    pub interval_ns: u64,
    /// Whether no session profiles the thread. It ticks when it holds the GVL while others wait, since they
    /// blame it for that.
    pub only_blamed: bool,
    /// Whether a session measures the thread's CPU time.
    pub cpu: bool,
    /// The finest interval of the sessions that measure the thread's wall clock, ns; 0 if none does.
    /// [`UNSAMPLED_NS`] if it is measured for the sake of other threads, as it may hold the GVL, or for a
    /// session without samples.
    pub wall_interval_ns: u64,
}

/// The timers that all sessions together need.
#[derive(Clone, Debug)]
pub struct Plan<'sessions> {
    demands: Vec<Demand<'sessions>>,
    engine: Engine,
    waits_reported: bool,
}

impl<'sessions> Plan<'sessions> {
    /// Creates the plan for these sessions, which share `engine`. `waits_reported` says whether the VM
    /// reports when threads wait.
    #[must_use]
    pub fn new(
        demands: impl Iterator<Item = Demand<'sessions>>,
        engine: Engine,
        waits_reported: bool,
    ) -> Self {
        Self { demands: demands.collect(), engine, waits_reported }
    }

    /// Returns the timers that `thread` needs.
    #[must_use]
    pub fn of_thread(&self, thread: ThreadId) -> ThreadPlan {
        self.of(|demand| demand.profiles(thread))
    }

    /// Returns the timers of threads that start from now on.
    #[must_use]
    pub fn of_new_threads(&self) -> ThreadPlan {
        self.of(|demand| demand.threads.is_none())
    }

    fn of(&self, profiles: impl Fn(&Demand<'_>) -> bool) -> ThreadPlan {
        let demands = || self.demands.iter().filter(|demand| profiles(demand));
        let own_ns = finest(demands());
        let blaming = || self.demands.iter().filter(|demand| demand.wall && self.waits_reported);
        let is_watched = || demands().any(|demand| demand.wall && self.waits_reported);
        let wall_interval_ns = match finest(demands().filter(|demand| demand.wall)) {
            0 if finest(blaming()) > 0 || is_watched() => UNSAMPLED_NS,
            wall_interval_ns => wall_interval_ns,
        };
        let interval_ns = finest(demands().chain(blaming()));
        let only_blamed = own_ns == 0 && interval_ns > 0;
        ThreadPlan { interval_ns, only_blamed, cpu: demands().any(|demand| demand.cpu), wall_interval_ns }
    }

    /// Returns the finest interval of all sessions, ns; 0 if none needs ticks.
    #[must_use]
    pub fn finest_ns(&self) -> u64 {
        finest(self.demands.iter())
    }

    /// Returns whether the wall clock of any thread is measured.
    #[must_use]
    pub fn measures_walls(&self) -> bool {
        self.demands.iter().any(|demand| demand.wall)
    }

    /// Returns the interval of the ticker's rounds, ns; 0 parks it. The ticker makes rounds as the engine, to
    /// see which threads wait where the VM does not report that, or to look for a thread that is blocked with
    /// the GVL.
    #[must_use]
    pub fn ticker_interval_ns(&self) -> u64 {
        match self.ticks_or_polls_ns() {
            0 => self.look_interval_ns(),
            interval_ns => interval_ns,
        }
    }

    /// Returns the interval of ticks and polls, without looks, ns.
    fn ticks_or_polls_ns(&self) -> u64 {
        let needs_it = |demand: &&Demand<'_>| self.ticker_is_engine() || !self.waits_reported && demand.wall;
        finest(self.demands.iter().filter(needs_it))
    }

    /// Returns the mean time between two looks for a thread that is blocked with the GVL, ns; 0 if nobody
    /// looks. It is five intervals, but not so short that the overhead would matter nor so long that a common
    /// block would be missed.
    #[must_use]
    pub fn look_interval_ns(&self) -> u64 {
        const BOUNDS_NS: (u64, u64) = (2_000_000, 5_000_000);
        match finest(self.demands.iter().filter(|demand| self.waits_reported && demand.wall)) {
            0 => 0,
            interval_ns => (5 * interval_ns).clamp(BOUNDS_NS.0, BOUNDS_NS.1),
        }
    }

    /// Returns whether the ticker makes all threads tick.
    #[must_use]
    pub fn ticker_is_engine(&self) -> bool {
        self.engine.trigger() == Trigger::Ticker
    }

    /// Returns whether threads have timers of their own.
    #[must_use]
    pub fn has_thread_timers(&self) -> bool {
        matches!(self.engine.trigger(), Trigger::Perf | Trigger::ThreadTimer)
    }

    /// Returns whether the timers of threads become perf counters.
    #[must_use]
    pub fn has_counters(&self) -> bool {
        self.engine.trigger() == Trigger::Perf
    }

    /// Returns the interval of the process's one timer, ns; 0 if the engine has none.
    #[must_use]
    pub fn process_interval_ns(&self) -> u64 {
        if self.is_process_wide() {
            self.finest_ns()
        } else {
            0
        }
    }

    /// Returns whether one timer serves the whole process.
    #[must_use]
    pub fn is_process_wide(&self) -> bool {
        self.engine.trigger() == Trigger::Setitimer
    }

    /// Returns whether every tick is a signal to one thread, which the kernel delivers even if it cannot
    /// store the signal's payload.
    #[must_use]
    pub fn all_aimed(&self) -> bool {
        matches!(self.engine.trigger(), Trigger::Perf | Trigger::Ticker)
    }

    /// Returns whether some ticks are such signals.
    #[must_use]
    pub fn some_aimed(&self) -> bool {
        self.all_aimed() || self.ticks_or_polls_ns() > 0
    }

    /// Returns whether walks wait for a safe point.
    #[must_use]
    pub fn walks_at_safepoints(&self) -> bool {
        self.engine.walks_at() == WalkAt::Safepoint
    }
}

/// Returns the finest interval of the sessions that need ticks, ns; 0 if there is none.
fn finest<'plan>(demands: impl Iterator<Item = &'plan Demand<'plan>>) -> u64 {
    demands.map(|demand| demand.interval_ns).filter(|interval_ns| *interval_ns > 0).min().unwrap_or(0)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const ONE: ThreadId = ThreadId(1);
    const TWO: ThreadId = ThreadId(2);

    fn demand(interval_ns: u64, wall: bool, threads: Option<&[ThreadId]>) -> Demand<'_> {
        Demand { interval_ns, cpu: !wall && interval_ns > 0, wall, threads }
    }

    fn plan<'a>(engine: Engine, waits_reported: bool, demands: &[Demand<'a>]) -> Plan<'a> {
        Plan::new(demands.iter().copied(), engine, waits_reported)
    }

    #[test]
    fn a_thread_ticks_at_the_finest_interval_of_the_sessions_that_profile_it() {
        let plan = plan(
            Engine::ThreadTimer,
            true,
            &[demand(1_000, false, None), demand(200, false, Some(&[ONE])), demand(0, false, None)],
        );
        let cpu = |interval_ns| ThreadPlan { interval_ns, cpu: true, ..ThreadPlan::default() };
        assert_eq!([ONE, TWO].map(|it| plan.of_thread(it)), [cpu(200), cpu(1_000)]);
        assert_eq!(
            plan.of_new_threads(),
            plan.of_thread(TWO),
            "a session of one thread is not about new ones"
        );
        assert_eq!(plan.finest_ns(), 200);
    }

    #[test]
    fn allocation_sessions_need_no_ticks() {
        for demands in [&[][..], &[demand(0, false, None)]] {
            let plan = plan(Engine::Setitimer, false, demands);
            assert_eq!(plan.of_thread(ONE), ThreadPlan::default());
            assert_eq!((plan.finest_ns(), plan.process_interval_ns(), plan.ticker_interval_ns()), (0, 0, 0));
        }
    }

    #[test]
    fn the_wall_clock_is_measured_at_the_interval_of_the_sessions_that_measure_it() {
        let demands = [demand(100, false, None), demand(5_000, true, Some(&[ONE]))];
        let plan = plan(Engine::ThreadTimer, true, &demands);
        assert!(plan.measures_walls());
        assert_eq!(plan.of_thread(ONE).wall_interval_ns, 5_000);
        assert_eq!(plan.of_thread(TWO).wall_interval_ns, UNSAMPLED_NS);
        let unreported = Plan::new(demands.into_iter(), Engine::ThreadTimer, false);
        assert_eq!(unreported.of_thread(TWO).wall_interval_ns, 0);
    }

    #[test]
    fn threads_outside_of_a_session_tick_for_those_that_wait_for_them() {
        let outside = |interval_ns| ThreadPlan {
            interval_ns,
            only_blamed: true,
            cpu: false,
            wall_interval_ns: UNSAMPLED_NS,
        };
        let wall = demand(5_000, true, Some(&[ONE]));
        let one = plan(Engine::Ticker, true, &[wall]);
        assert_eq!([one.of_thread(TWO), one.of_new_threads()], [outside(5_000); 2]);
        assert!(!one.of_thread(ONE).only_blamed);
        // All threads that may hold the GVL tick equally often; otherwise some would be blamed more than
        // others.
        let two = plan(Engine::Ticker, true, &[wall, demand(9_000, false, Some(&[TWO]))]);
        let expected = ThreadPlan { cpu: true, only_blamed: false, ..outside(5_000) };
        assert_eq!(two.of_thread(TWO), expected);
        assert_eq!(plan(Engine::Ticker, false, &[wall]).of_thread(TWO), ThreadPlan::default());
    }

    #[test]
    fn the_ticker_runs_as_engine_or_for_unreported_waits() {
        let demands = [demand(100, false, None), demand(5_000, true, None)];
        assert_eq!(plan(Engine::Ticker, true, &demands).ticker_interval_ns(), 100);
        assert_eq!(plan(Engine::ThreadTimer, true, &demands).ticker_interval_ns(), 2_000_000);
        let unreported = plan(Engine::ThreadTimer, false, &demands);
        assert_eq!(unreported.ticker_interval_ns(), 5_000);
        assert!(unreported.some_aimed() && !unreported.all_aimed());
    }

    #[test]
    fn an_engine_is_a_trigger_and_a_walk_location() {
        let of = |engine| {
            let plan = plan(engine, true, &[demand(100, false, None)]);
            (
                plan.has_thread_timers(),
                plan.has_counters(),
                plan.process_interval_ns(),
                plan.walks_at_safepoints(),
            )
        };
        assert_eq!(of(Engine::Perf), (true, true, 0, false));
        assert_eq!(of(Engine::ThreadTimer), (true, false, 0, false));
        assert_eq!(of(Engine::Ticker), (false, false, 0, false));
        assert_eq!(of(Engine::Setitimer), (false, false, 100, false));
        assert_eq!(of(Engine::Safepoint), (true, false, 0, true));
    }
}
