//! The wall clock of one thread, estimated from two clocks and ticks where no hook reports waits, as before Ruby 3.3.
//!
//! The running time is what the thread's CPU clock says, and the waiting time is the rest of its wall clock. So the sums
//! are exact. Which stack ran and which waited is sampled. Each tick finds the thread either in a system call that waits,
//! or not. It takes the part of the time since the last such tick that is of its kind.
//!
//! A tick ends such a call with EINTR, so a thread that stands still is spared. If its CPU clock has not moved since the
//! last poll, it cannot have done anything. Its time is then that of the stack that was sampled last. But a tick itself
//! moves the clock. So a thread that was found waiting gets a second tick. If it has slept only once in between, it is
//! still in the same call, and how far a tick moves its clock is known. As that is a guess from then on, the thread gets
//! another tick ever more seldom: after 8 polls, 64, 512 and so on. A thread that is not in the same call gets a tick at
//! each poll. Leaving one out because of what a thread did would favour what it does next.
//!
//! [`poll`](EstimatedWallClock::poll) is for the ticker; [`classify`](EstimatedWallClock::classify),
//! [`fold`](EstimatedWallClock::fold) and [`commit`](EstimatedWallClock::commit) are for the thread's own handler. Each field
//! has one of them as its writer, mostly; what both write is a hint.
//!
//! Details that are easy to get wrong:
//!
//! * The CPU clock is the thread's, never that of the process, which lags by a kernel tick while a CPU timer is armed.
//! * The CPU clock alone could not show whether a tick found a wait. In a loop that runs 0.3 ms and sleeps 0.7, every
//!   interval has both. So the interrupted instruction shows it (`before_3_3/in_call.rs` of the extension).
//! * When the clock of a thread that stood still moves again, the next tick first records how far the earlier wait was
//!   seen (`Kind::WaitExtension`). The time between that and the next wait is split in halves between both.
//! * One signal for each wait is not enough. The signal moves the clock, so it is open whether the thread has gone back
//!   to the same call or into another. All of a long wait could then go to the short one before it. Hence the second
//!   tick, and the count of sleeps between both (`ru_nvcsw`).
//! * Leaving out polls at which less than 0.1 ms of CPU had been used was biased. Of two waits of 0.6 ms in turn, the
//!   one that followed a computation of 0.1 ms got 71 % of the time.
//! * Waiting that no tick finds, more than 4 intervals of it, was waiting for a CPU. It goes to the stack that runs
//!   then. A GC gets the time that the thread has run since its last record.
//! * A session that starts has all threads polled anew, as it does not know what they wait in.

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use self::clocks::Clocks;
use crate::record::WallTimes;

mod clocks;

/// The factor by which a thread is left alone longer, each time that a tick has found it still standing there.
const PATIENCE: u32 = 8;
/// No CPU clock stands there.
const UNKNOWN: u64 = u64::MAX;
/// Waiting of so many intervals that no tick has found was waiting for the CPU.
const UNSEEN: u64 = 4;

/// The estimated wall clock of a thread. Times are ns.
#[derive(Debug, Default)]
pub struct EstimatedWallClock {
    clocks: Clocks,
    gc_ns: AtomicU64,
    interval_ns: AtomicU64,

    /// Its running clock at its last record that was no wait.
    ran_ns: AtomicU64,
    /// Its waiting clock up to which all was attributed to a stack.
    waited_ns: AtomicU64,
    /// The last record was a wait.
    waits: AtomicBool,
    /// The last tick became a record.
    committed: AtomicBool,
    /// Its CPU clock after that.
    committed_cpu_ns: AtomicU64,
    /// The number of its sleeps by then.
    sleeps: AtomicU64,
    /// Whether it was in the same call as at the tick before.
    same_call: AtomicBool,

    /// Its CPU clock at the last poll.
    seen_cpu_ns: AtomicU64,
    /// Whether it was sent a tick then.
    tick_sent: AtomicBool,
    /// The distance that its CPU clock had moved since the tick before.
    sent_ns: AtomicU64,
    /// Whether it was sent one because it stood still. For the handler.
    idle: AtomicBool,
    /// The number of polls that found it standing still since its last tick, and the number after which it gets another.
    idle_polls: AtomicU32,
    patience: AtomicU32,
    /// Its waiting clock when it was last found standing still.
    still_ns: AtomicU64,
}

/// The meaning of a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classification {
    /// The thread waits.
    pub waits: bool,
    /// Up to here on its waiting clock the time is of the wait that was recorded last.
    pub before_ns: Option<u64>,
    /// The thread runs now, and has long been kept from running.
    pub starved: bool,
}

impl EstimatedWallClock {
    /// A clock that is not measured yet.
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

    /// For a new life. Not measured yet.
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

    /// Whether the clock is measured.
    #[inline]
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.clocks.is_on()
    }

    /// Changes the interval.
    pub fn set_interval(&self, interval_ns: u64) {
        self.interval_ns.store(interval_ns, Relaxed);
    }

    /// Measures from `now_ns` on; the thread's CPU clock stands at `cpu_ns`. If it is measured already, only the interval
    /// changes. With the GVL.
    pub fn turn_on(&self, now_ns: u64, cpu_ns: u64, interval_ns: u64) {
        self.interval_ns.store(interval_ns, Relaxed);
        if self.clocks.start(now_ns, cpu_ns) {
            self.poll_anew();
        }
    }

    /// Measures no longer.
    pub fn turn_off(&self, now_ns: u64, cpu_ns: u64) {
        self.clocks.stop(now_ns, cpu_ns);
    }

    /// Measures no longer, for good: the thread has ended, as was found out at `now_ns`. What its CPU clock said last is
    /// known, if it is gone.
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

    /// The clocks at `now_ns`, when its CPU clock stands at `cpu_ns`.
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
            gvl_ns: 0,
            gc_ns,
        }
    }

    /// Has the next poll send a tick: there is a new session, which has not seen what the thread waits in.
    pub fn poll_anew(&self) {
        self.seen_cpu_ns.store(UNKNOWN, Relaxed);
    }

    /// Polls the clocks; the ticker calls it once an interval. True when the thread is to be sent a tick.
    pub fn poll(&self, now_ns: u64, cpu_ns: u64) -> bool {
        let seen_ns = self.seen_cpu_ns.swap(cpu_ns, Relaxed);
        let tick_sent = self.tick_sent.swap(false, Relaxed);
        let moved_ns = cpu_ns.saturating_sub(self.committed_cpu_ns.load(Relaxed));
        let mut idle = false;
        if tick_sent && seen_ns != UNKNOWN {
            // What the tick before has cost it is known once two have found it in the same call.
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

    /// Classifies a tick that found the thread in a system call that waits, or not. The clocks are at `walls`.
    ///
    /// # Signal safety
    /// Loads, and an exchange.
    #[inline]
    pub fn classify(&self, walls: &WallTimes, in_call: bool) -> Classification {
        let now_ns = walls.waiting_ns;
        // It may be kept from running in other ways: by other processes, or by a disk.
        let idle = self.idle.swap(false, Relaxed);
        let waits = in_call || idle;
        let attributed_ns = self.waited_ns.load(Relaxed);
        let before_ns = match (self.waits.load(Relaxed), waits) {
            (false, _) => None,
            (true, false) => Some(now_ns),
            // Since the last tick, so all of that is of the stack of now.
            (true, true) if idle => None,
            // The one ended and the other began somewhere between.
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

    /// Begins a new account: a GC that is found later does not get what ran before. A tick that comes between takes a part
    /// of that GC's share, and changes no sum.
    pub fn apportion(&self, walls: &WallTimes) {
        self.ran_ns.fetch_max(walls.running_ns, Relaxed);
    }

    /// Notes that a wait was recorded at its end: what comes is another one's. The CPU clock stands at `cpu_ns` now.
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

    /// Notes that the tick has become a record. The CPU clock stands at `cpu_ns` now; the thread has slept `sleeps` times in
    /// its life.
    ///
    /// # Signal safety
    /// Stores.
    #[inline]
    pub fn commit(&self, walls: &WallTimes, it: Classification, cpu_ns: u64, sleeps: u64) {
        let same_call =
            it.waits && self.waits.load(Relaxed) && sleeps == self.sleeps.swap(sleeps, Relaxed) + 1;
        self.same_call.store(same_call, Relaxed);
        if it.waits || it.starved || it.before_ns.is_some() {
            self.waited_ns.store(walls.waiting_ns, Relaxed);
            self.still_ns.store(0, Relaxed);
        }
        if !it.waits {
            self.ran_ns.store(walls.running_ns, Relaxed);
        }
        self.waits.store(it.waits, Relaxed);
        self.committed_cpu_ns.store(cpu_ns, Relaxed);
        self.committed.store(true, Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
