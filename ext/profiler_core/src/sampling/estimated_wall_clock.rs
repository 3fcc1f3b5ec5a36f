//! The wall clock of one thread, estimated from two clocks and from ticks where no hook reports waits, as
//! before Ruby 3.3.
//!
//! The running time is the thread's CPU clock, and the waiting time is the rest of its wall clock, so the
//! sums are exact. Which stack ran and which waited is sampled. Each tick finds the thread either in a
//! blocking system call or not. The tick takes the part of the time since the previous tick that is of the
//! same kind.
//!
//! A tick ends such a call with EINTR, so a thread that stands still is spared. If its CPU clock has not
//! moved since the last poll, the thread cannot have done anything, and the time belongs to the stack that
//! was sampled last. But a tick itself moves the clock. So a thread that was found waiting gets a second
//! tick. If it has slept only once in between, it is still in the same call, and we know how far a tick moves
//! its clock. As this is a guess from then on, the thread gets another tick ever more rarely: after 8 polls,
//! 64, 512 and so on. A thread that is not in the same call gets a tick at each poll. Leaving out a tick
//! because of what a thread did would favour what it does next.
//!
//! [`poll`](EstimatedWallClock::poll) is called by the ticker; [`classify`](EstimatedWallClock::classify),
//! [`fold`](EstimatedWallClock::fold) and [`commit`](EstimatedWallClock::commit) are called by the thread's
//! own handler. Most fields are written by only one of them; a field that both write is a hint.
//!
//! Details that are easy to get wrong:
//!
//! * The CPU clock is that of the thread, never that of the process, which lags by a kernel tick while a CPU
//!   timer is armed.
//! * The CPU clock by itself could not show whether a tick found a wait. In a loop that runs for 0.3 ms and
//!   sleeps for 0.7 ms, every interval has both. So the interrupted instruction shows it
//!   (`before_3_3/in_call.rs` of the extension).
//! * When the clock of a thread that stood still moves again, the next tick first records how far the earlier
//!   wait was seen (`Kind::WaitExtension`). The time between that point and the next wait is split evenly
//!   between both.
//! * One signal for each wait is not enough. The signal moves the clock, so we cannot know whether the thread
//!   has gone back to the same call or into another. All of a long wait could then go to the short one before
//!   it. Hence the second tick, and the count of sleeps between both (`ru_nvcsw`).
//! * Leaving out polls at which less than 0.1 ms of CPU time had been used was biased. Of two alternating
//!   waits of 0.6 ms, the one that followed a computation of 0.1 ms got 71 % of the time.
//! * Waiting that no tick finds, more than 4 intervals of it, was waiting for a CPU. It goes to the stack
//!   that runs afterwards. A GC gets the time that the thread has run since its last record.
//! * A session that starts causes all threads to be polled again, as it does not know what they wait in.

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use self::clocks::Clocks;
use crate::record::WallTimes;

mod clocks;

/// The factor by which the pause before a thread's next tick grows each time a tick finds it still standing
/// in the same place.
const PATIENCE: u32 = 8;
/// The value for an unknown CPU clock.
const UNKNOWN: u64 = u64::MAX;
/// The number of intervals of waiting without a tick from which it was waiting for the CPU.
const UNSEEN: u64 = 4;

/// The estimated wall clock of a thread. Times are ns.
#[derive(Debug, Default)]
pub struct EstimatedWallClock {
    clocks: Clocks,
    gc_ns: AtomicU64,
    interval_ns: AtomicU64,

    /// The running clock at the last record that was not a wait.
    ran_ns: AtomicU64,
    /// The waiting clock up to which all time was attributed to a stack.
    waited_ns: AtomicU64,
    /// Whether the last record was a wait.
    waits: AtomicBool,
    /// Whether the last tick became a record.
    committed: AtomicBool,
    /// The CPU clock after that record.
    committed_cpu_ns: AtomicU64,
    /// The number of sleeps by then.
    sleeps: AtomicU64,
    /// Whether the thread was in the same call as at the tick before.
    same_call: AtomicBool,

    /// The CPU clock at the last poll.
    seen_cpu_ns: AtomicU64,
    /// Whether the last poll sent a tick.
    tick_sent: AtomicBool,
    /// The distance that the CPU clock had moved since the tick before, when that tick was sent.
    sent_ns: AtomicU64,
    /// Whether the tick was sent because the thread stood still. Read by the handler.
    idle: AtomicBool,
    /// The number of polls that found the thread standing still since its last tick, and the number after
    /// which it gets another.
    idle_polls: AtomicU32,
    patience: AtomicU32,
    /// The waiting clock when the thread was last found standing still.
    still_ns: AtomicU64,
}

/// The classification of a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classification {
    /// Whether the thread waits.
    pub waits: bool,
    /// The reading of the waiting clock up to which the time belongs to the wait that was recorded last.
    pub before_ns: Option<u64>,
    /// Whether the thread runs now after having long been kept from running.
    pub starved: bool,
}

impl EstimatedWallClock {
    /// Creates a clock that is not measured yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            clocks: Clocks::new(),
            gc_ns: AtomicU64::new(0),
            interval_ns: AtomicU64::new(0),
            ran_ns: AtomicU64::new(0),
            waited_ns: AtomicU64::new(0),
            waits: AtomicBool::new(false),
            committed: AtomicBool::new(false),
            committed_cpu_ns: AtomicU64::new(0),
            sleeps: AtomicU64::new(0),
            same_call: AtomicBool::new(false),
            seen_cpu_ns: AtomicU64::new(0),
            tick_sent: AtomicBool::new(false),
            sent_ns: AtomicU64::new(0),
            idle: AtomicBool::new(false),
            idle_polls: AtomicU32::new(0),
            patience: AtomicU32::new(0), // the first poll sets it
            still_ns: AtomicU64::new(0),
        }
    }

    /// Resets the clock for the next life of its thread, not measured yet.
    pub fn reset(&self) {
        self.clocks.reset();
        for clock in [&self.gc_ns, &self.ran_ns, &self.waited_ns, &self.committed_cpu_ns, &self.still_ns] {
            clock.store(0, Relaxed);
        }
        for flag in [&self.waits, &self.committed, &self.same_call, &self.tick_sent, &self.idle] {
            flag.store(false, Relaxed);
        }
        self.poll_anew();
    }

    /// Returns whether the clock is measured.
    #[inline]
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.clocks.is_on()
    }

    /// Changes the interval.
    pub fn set_interval(&self, interval_ns: u64) {
        self.interval_ns.store(interval_ns, Relaxed);
    }

    /// Starts measuring at `now_ns`; the thread's CPU clock stands at `cpu_ns`. If the clock is measured
    /// already, only the interval changes. Must be called with the GVL.
    pub fn turn_on(&self, now_ns: u64, cpu_ns: u64, interval_ns: u64) {
        self.interval_ns.store(interval_ns, Relaxed);
        if self.clocks.start(now_ns, cpu_ns) {
            self.poll_anew();
        }
    }

    /// Stops measuring.
    pub fn turn_off(&self, now_ns: u64, cpu_ns: u64) {
        self.clocks.stop(now_ns, cpu_ns);
    }

    /// Stops measuring for good: the thread has ended, which was noticed at `now_ns`. If its CPU clock is
    /// gone, the last known reading is used.
    ///
    /// # Signal safety
    /// Loads and stores.
    pub fn end(&self, now_ns: u64, cpu_ns: Option<u64>) {
        let seen_ns = match self.seen_cpu_ns.load(Relaxed) {
            UNKNOWN => 0,
            seen_ns => seen_ns,
        };
        self.clocks.end(now_ns, cpu_ns.unwrap_or_else(|| seen_ns.max(self.committed_cpu_ns.load(Relaxed))));
    }

    /// Returns the clocks at `now_ns`, when the CPU clock stands at `cpu_ns`.
    ///
    /// # Signal safety
    /// Loads.
    #[inline]
    #[must_use]
    pub fn read(&self, now_ns: u64, cpu_ns: u64) -> WallTimes {
        let (total_ns, busy_ns) = self.clocks.read(now_ns, cpu_ns);
        let gc_ns = self.gc_ns.load(Relaxed);
        WallTimes {
            running_ns: busy_ns.saturating_sub(gc_ns),
            waiting_ns: total_ns - busy_ns,
            gc_ns,
            ..WallTimes::default()
        }
    }

    /// Makes the next poll send a tick: there is a new session, which has not seen what the thread waits in.
    pub fn poll_anew(&self) {
        self.seen_cpu_ns.store(UNKNOWN, Relaxed);
    }

    /// Polls the clocks. Called by the ticker once per interval. Returns true if a tick should be sent to the
    /// thread.
    pub fn poll(&self, now_ns: u64, cpu_ns: u64) -> bool {
        let seen_ns = self.seen_cpu_ns.swap(cpu_ns, Relaxed);
        let tick_sent = self.tick_sent.swap(false, Relaxed);
        let moved_ns = cpu_ns.saturating_sub(self.committed_cpu_ns.load(Relaxed));
        let mut idle = false;
        if tick_sent && seen_ns != UNKNOWN {
            // How far a tick moves the clock is known once two ticks have found the thread in the same call.
            let same_call = self.committed.load(Relaxed) && self.same_call.load(Relaxed);
            if same_call && moved_ns <= 2 * self.sent_ns.load(Relaxed) {
                return self.note_idle(now_ns, cpu_ns);
            }
            self.patience.store(PATIENCE, Relaxed);
        } else if cpu_ns == seen_ns {
            let (idle_polls, patience) = (self.idle_polls.load(Relaxed) + 1, self.patience.load(Relaxed));
            if idle_polls < patience {
                self.idle_polls.store(idle_polls, Relaxed);
                return self.note_idle(now_ns, cpu_ns);
            }
            idle = true;
            self.patience.store(patience.saturating_mul(PATIENCE), Relaxed);
        } else {
            self.patience.store(PATIENCE, Relaxed);
        }
        self.idle_polls.store(0, Relaxed);
        self.committed.store(false, Relaxed);
        self.sent_ns.store(moved_ns, Relaxed);
        self.idle.store(idle, Relaxed);
        self.tick_sent.store(true, Relaxed);
        true
    }

    fn note_idle(&self, now_ns: u64, cpu_ns: u64) -> bool {
        self.still_ns.store(self.read(now_ns, cpu_ns).waiting_ns, Relaxed);
        false
    }

    /// Classifies a tick that found the thread in a blocking system call or not. The clocks stand at `walls`.
    ///
    /// # Signal safety
    /// Loads, and an exchange.
    #[inline]
    pub fn classify(&self, walls: &WallTimes, in_call: bool) -> Classification {
        let now_ns = walls.waiting_ns;
        // The thread may be kept from running in other ways: by other processes, or by a disk.
        let idle = self.idle.swap(false, Relaxed);
        let waits = in_call || idle;
        let attributed_ns = self.waited_ns.load(Relaxed);
        let before_ns = match (self.waits.load(Relaxed), waits) {
            (false, _) => None,
            (true, false) => Some(now_ns),
            // The thread has stood still since the last tick, so all of that time belongs to the current
            // stack.
            (true, true) if idle => None,
            // The earlier wait ended and the next one began somewhere in between.
            (true, true) => {
                let still_ns = self.still_ns.load(Relaxed).clamp(attributed_ns.min(now_ns), now_ns);
                Some(still_ns + (now_ns - still_ns) / 2)
            }
        };
        let unseen_ns = now_ns.saturating_sub(attributed_ns);
        let starved = !waits && before_ns.is_none() && unseen_ns > UNSEEN * self.interval_ns.load(Relaxed);
        Classification { waits, before_ns, starved }
    }

    /// Counts the time that the thread has run since its last record as garbage collection.
    ///
    /// # Signal safety
    /// Loads and a store.
    #[inline]
    pub fn fold(&self, walls: &mut WallTimes) {
        let more_ns = walls.running_ns.saturating_sub(self.ran_ns.load(Relaxed));
        walls.running_ns -= more_ns;
        walls.gc_ns += more_ns;
        self.gc_ns.store(walls.gc_ns, Relaxed);
    }

    /// Begins a new account, so that a GC found later does not get the time that ran before. A tick in
    /// between takes a part of that GC's time, but changes no sum.
    pub fn apportion(&self, walls: &WallTimes) {
        self.ran_ns.fetch_max(walls.running_ns, Relaxed);
    }

    /// Notes that a wait was recorded at its end, so what follows is another wait. The CPU clock stands at
    /// `cpu_ns` now.
    ///
    /// # Signal safety
    /// Stores.
    pub fn end_wait(&self, walls: &WallTimes, cpu_ns: u64) {
        self.same_call.store(false, Relaxed);
        self.waited_ns.store(walls.waiting_ns, Relaxed);
        self.still_ns.store(0, Relaxed);
        self.waits.store(false, Relaxed);
        self.committed_cpu_ns.store(cpu_ns, Relaxed);
        self.committed.store(true, Relaxed);
    }

    /// Notes that the tick has become a record. The CPU clock stands at `cpu_ns` now, and the thread has
    /// slept `sleeps` times in its life.
    ///
    /// # Signal safety
    /// Stores.
    #[inline]
    pub fn commit(&self, walls: &WallTimes, found: Classification, cpu_ns: u64, sleeps: u64) {
        let same_call =
            found.waits && self.waits.load(Relaxed) && sleeps == self.sleeps.swap(sleeps, Relaxed) + 1;
        self.same_call.store(same_call, Relaxed);
        if found.waits || found.starved || found.before_ns.is_some() {
            self.waited_ns.store(walls.waiting_ns, Relaxed);
            self.still_ns.store(0, Relaxed);
        }
        if !found.waits {
            self.ran_ns.store(walls.running_ns, Relaxed);
        }
        self.waits.store(found.waits, Relaxed);
        self.committed_cpu_ns.store(cpu_ns, Relaxed);
        self.committed.store(true, Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
