//! A native thread that does, in rounds, what no timer does.
//!
//! If wall clocks are measured, it polls for a thread that is blocked with the GVL ([`blocks`]). As the
//! engine `ticker` it sends a tick to each thread that runs, at a random instant of each interval, as finely
//! as requested.
//!
//! If no hook reports waits, it samples the wall clocks as well, with any engine. Which threads it spares is in
//! [`tick`]. A forked child does not inherit the ticker, and gets one of its own.
//!
//! If it only polls for blocks, it waits for the [`alarm`], which threads with the GVL set. As the engine, it
//! sleeps when no thread has run for a while, until a hook on the GVL wakes it. So an idle process is not
//! disturbed. It can know this only from Ruby 3.3 on.

use ::core::cell::Cell;
use ::core::hint::black_box;
use ::core::prelude::rust_2021::*;
use ::core::ptr::null_mut;
use ::core::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU64, Ordering};
use ::std::boxed::Box;
use ::std::io;
use ::std::thread::{park, park_timeout, sleep, Builder, Thread};
use ::std::time::Duration;

use ::profiler_core::record::counters::add;
use ::profiler_core::rng;

use crate::before_3_3;
use crate::engine::round::{self, Round};
use crate::engine::{alarm, blocks, setitimer, tick};
use crate::shared::CAPTURE;
use crate::sys::native_thread;
use crate::sys::{clock, sigprof};
use crate::threads::{self, ThreadState};

/// The time below which the ticker sleeps in a way that no other thread can end. Of the 40 us that a round
/// takes, that saves 3 us. At the default interval all sleeps are shorter than this.
const SHORT_SLEEP_NS: u64 = 2_000_000;

/// The interval of the rounds in nanoseconds; 0 while the ticker is parked.
static INTERVAL_NS: AtomicU64 = AtomicU64::new(0);
/// Whether the ticker is the engine of all threads, and not only of those whose wall clocks are sampled.
pub(crate) static IS_ENGINE: AtomicBool = AtomicBool::new(false);
/// The native id of the ticker's thread; 0 if there is none.
static NATIVE_ID: AtomicI32 = AtomicI32::new(0);
/// The ticker's thread, once it was needed. It is leaked, for callers that may neither lock nor free.
static TICKER: AtomicPtr<Thread> = AtomicPtr::new(null_mut());
/// Whether the ticker sleeps until a thread runs.
static IDLE: AtomicBool = AtomicBool::new(false);
/// The time in nanoseconds for which no thread must have run before the ticker sleeps like that. Waking it
/// takes a while on a busy machine. So it does this for apps that wait for their next request, not for those
/// between two system calls.
const PATIENCE_NS: u64 = 100_000_000;

/// Returns that time for rounds that come every `interval_ns`. If the ticker only polls for blocks, one round
/// without a running thread is enough, as rounds are far apart.
fn patience_ns(interval_ns: u64) -> u64 {
    if IS_ENGINE.load(Ordering::Relaxed) {
        PATIENCE_NS
    } else {
        interval_ns
    }
}

/// The longest sleep of that kind, in case the ticker and a thread that began to run have missed each other
/// after all.
const LONGEST_IDLE: Duration = Duration::from_secs(10);
/// The time after which a thread that began to run sees that the ticker is about to sleep, or the ticker sees
/// that it runs. Other processors see a store far sooner.
const SEEN: Duration = Duration::from_micros(100);

/// The mean time in nanoseconds between two polls for a blocked thread; 0 if there are none.
static LOOK_NS: AtomicU64 = AtomicU64::new(0);

/// Starts the ticker's rounds at `interval_ns`, the finest interval of all threads; 0 stops them. In these
/// rounds it polls for a blocked thread about every `look_ns`, unless that is 0.
///
/// # Errors
/// The errno, if the system refuses a thread.
pub(crate) fn arm(interval_ns: u64, look_ns: u64) -> Result<(), i32> {
    if interval_ns > 0 && super::is_halted() {
        return Ok(());
    }
    LOOK_NS.store(look_ns, Ordering::Relaxed);
    if INTERVAL_NS.swap(interval_ns, Ordering::Relaxed) == interval_ns {
        return Ok(());
    }
    let no_thread = |failure: io::Error| {
        INTERVAL_NS.store(0, Ordering::Relaxed); // or the next call would assume that it ticks
        failure.raw_os_error().unwrap_or(::libc::EAGAIN)
    };
    if interval_ns == 0 {
        return Ok(()); // it parks when it wakes: waking it takes longer than the rest of a stop
    }
    if let Some(thread) = thread() {
        thread.unpark();
        if !setitimer::is_ours() {
            alarm::adapt(Some(look_ns).filter(|_| only_looks(look_ns)));
        }
    } else {
        let spawned = sigprof::without_signals(|| Builder::new().name("profiler tick".into()).spawn(work));
        let thread = spawned.map_err(no_thread)?.thread().clone();
        // Hidden from LLVM 19, which turns a pointer that is stored once into a bit, and then refuses to load
        // that atomically.
        let leaked = black_box(Box::into_raw(Box::new(thread)));
        TICKER.store(leaked, Ordering::Release);
    }
    Ok(())
}

fn thread() -> Option<&'static Thread> {
    // SAFETY: the pointer is null or leaked. Acquire pairs with the Release in `arm`, of which the sampler
    // lock allows only one call at a time.
    unsafe { TICKER.load(Ordering::Acquire).as_ref() }
}

/// Wakes the ticker, if it waits for a thread to run: the calling thread runs.
///
/// *Runs on:* that thread, in hooks on the GVL. *Calls:* a futex, if the ticker sleeps. *Never:* waits.
#[inline]
pub(crate) fn wake_if_idle() {
    if IDLE.load(Ordering::Relaxed) && IDLE.swap(false, Ordering::Relaxed) {
        if let Some(thread) = thread() {
            thread.unpark();
        }
    }
}

/// Returns the CPU time in nanoseconds that the ticker has used in this process.
pub(crate) fn used_ns() -> u64 {
    match NATIVE_ID.load(Ordering::Relaxed) {
        0 => 0,
        native_id => clock::cpu_ns_of(native_id).unwrap_or(0),
    }
}

/// Returns the native id of the ticker's thread; 0 if there is none.
pub(crate) fn native_id() -> i32 {
    NATIVE_ID.load(Ordering::Relaxed)
}

/// Forgets the ticker in a forked child: its thread is the parent's.
pub(crate) fn forget() {
    INTERVAL_NS.store(0, Ordering::Relaxed);
    NATIVE_ID.store(0, Ordering::Relaxed);
    tick::forget();
    TICKER.store(null_mut(), Ordering::Relaxed);
    IDLE.store(false, Ordering::Relaxed);
    round::forget();
    alarm::forget();
}

/// The body of the ticker's thread.
fn work() {
    native_thread::sleep_precisely();
    NATIVE_ID.store(native_thread::native_id(), Ordering::Relaxed);
    if !before_3_3::NEEDED {
        alarm::create(native_thread::native_id());
    }
    let receives = Cell::new(false);
    let mut rounds = Rounds::new();
    loop {
        if setitimer::is_ours() && !receives.get() {
            alarm::silence();
        }
        setitimer::receive_here(&receives);
        let look_ns = LOOK_NS.load(Ordering::Relaxed);
        match INTERVAL_NS.load(Ordering::Relaxed) {
            0 => {
                park();
                rounds.resume();
            }
            _ if only_looks(look_ns) && alarm::exists() && !setitimer::is_ours() => {
                rounds.look_at_alarm(look_ns);
            }
            interval_ns if rounds.are_idle(interval_ns) => rounds.wait_for_a_running_thread(),
            interval_ns => rounds.next(interval_ns, look_ns),
        }
    }
}

/// The times of the ticker's rounds. All are of the monotonic clock, in nanoseconds.
struct Rounds {
    /// The state of the random numbers.
    chance: u64,
    /// The beginning of the interval in which the next round falls.
    slot_ns: u64,
    /// When a thread was last seen running.
    busy_ns: u64,
    last_round_ns: u64,
    last_look_ns: u64,
}

impl Rounds {
    fn new() -> Self {
        let now_ns = clock::monotonic_ns();
        let chance = super::random() | 1;
        Self { chance, slot_ns: now_ns, busy_ns: now_ns, last_round_ns: 0, last_look_ns: 0 }
    }

    /// Begins anew after a pause.
    fn resume(&mut self) {
        self.slot_ns = clock::monotonic_ns();
        self.busy_ns = self.slot_ns;
    }

    /// Waits for the alarm, which a thread with the GVL sets, and polls for a block.
    fn look_at_alarm(&mut self, look_ns: u64) {
        alarm::wait(look_ns, || threads::gvl_holder::running().is_some());
        {
            let _round = Round::begin();
            if is_wanted() {
                blocks::look();
            }
        }
        self.resume();
    }

    /// Returns whether no thread has run for so long that the ticker should sleep until one does.
    fn are_idle(&mut self, interval_ns: u64) -> bool {
        if !is_idle() {
            self.busy_ns = self.slot_ns;
            return false;
        }
        self.slot_ns.saturating_sub(self.busy_ns) > patience_ns(interval_ns)
    }

    fn wait_for_a_running_thread(&mut self) {
        IDLE.store(true, Ordering::SeqCst);
        // Checked again, as a thread that began to run in between did not see that the ticker sleeps.
        sleep(SEEN);
        if is_idle() {
            park_timeout(LONGEST_IDLE);
        }
        IDLE.store(false, Ordering::Relaxed);
        self.slot_ns = clock::monotonic_ns();
    }

    /// Sleeps until a random instant of the interval, then polls for a block and visits the threads.
    fn next(&mut self, interval_ns: u64, look_ns: u64) {
        let only_looks = only_looks(look_ns);
        let then_ns = self.choose(interval_ns, only_looks);
        sleep_until(then_ns, interval_ns);
        let now_ns = clock::monotonic_ns();
        self.last_round_ns = now_ns;
        let round = Round::begin();
        if is_wanted() && look_ns > 0 && now_ns - self.last_look_ns >= look_ns / 2 {
            self.last_look_ns = now_ns;
            blocks::look();
        }
        if is_wanted() && !only_looks {
            visit_threads(self.slot_ns, now_ns);
        }
        drop(round);
        self.slot_ns += interval_ns;
        let missed = now_ns.saturating_sub(self.slot_ns) / interval_ns;
        self.slot_ns += missed * interval_ns;
        if let (1.., false, Some(hub)) = (missed, only_looks, CAPTURE.hub()) {
            add(&hub.counters.overrun, missed);
        }
    }

    /// Chooses the instant of the next round.
    fn choose(&mut self, interval_ns: u64, only_looks: bool) -> u64 {
        self.chance = rng::after(self.chance);
        let (first_ns, span_ns) = if only_looks {
            // Timed from one poll to the next, so that no program falls into step with them, and no gap is far
            // longer than another.
            let last_ns = self.last_look_ns.max(self.slot_ns - interval_ns);
            (last_ns + interval_ns * 3 / 4, interval_ns / 2)
        } else {
            // No sooner than a thread can have run enough since the last round: waking up is most of the
            // overhead of a tick.
            let first_ns = self.slot_ns.max(self.last_round_ns + tick::min_cpu_ns(interval_ns));
            (first_ns, (self.slot_ns + interval_ns).saturating_sub(first_ns))
        };
        first_ns + self.chance % span_ns.max(1)
    }
}

/// Sends a tick to each thread whose turn it is. A thread that no session profiles ticks for the threads that
/// wait for it.
fn visit_threads(slot_ns: u64, now_ns: u64) {
    let is_engine = IS_ENGINE.load(Ordering::Relaxed);
    let mut waited_for = None;
    let mut is_visited = |state: &ThreadState| {
        !state.wanted.only_blamed.load(Ordering::Relaxed)
            || *waited_for.get_or_insert_with(threads::any_waits_for_gvl)
    };
    threads::live().filter(|it| is_visited(it)).for_each(|it| tick::visit(it, is_engine, slot_ns, now_ns));
}

/// Returns whether the ticker only polls for blocks, if the mean time between two polls is `look_ns`.
fn only_looks(look_ns: u64) -> bool {
    look_ns > 0 && !IS_ENGINE.load(Ordering::Relaxed)
}

/// Returns whether ticks and polls are wanted: no session has stopped them since the round began.
fn is_wanted() -> bool {
    CAPTURE.enabled.load(Ordering::Relaxed) && INTERVAL_NS.load(Ordering::Relaxed) > 0
}

/// Returns whether there is no thread to visit before a hook reports that one has acquired the GVL. Always
/// false if there are no such hooks.
fn is_idle() -> bool {
    if before_3_3::NEEDED || !CAPTURE.walls.load(Ordering::Relaxed) {
        return false;
    }
    if IS_ENGINE.load(Ordering::Relaxed) {
        all_blocked()
    } else {
        threads::gvl_holder::running().is_none()
    }
}

/// Returns whether all threads wait, none of them for the GVL. A thread whose CPU time is measured must be
/// visited nevertheless.
fn all_blocked() -> bool {
    threads::live()
        .filter(|state| {
            state.wanted.interval_ns.load(Ordering::Relaxed) > 0
                && !state.wanted.only_blamed.load(Ordering::Relaxed)
        })
        .all(|it| tick::waits_are_measured(it) && it.walls.gvl_wait_since_ns() == 0)
}

/// Sleeps until `then_ns`, or until the interval changes. A short sleep does not notice a change.
fn sleep_until(then_ns: u64, interval_ns: u64) {
    loop {
        let left_ns = then_ns.saturating_sub(clock::monotonic_ns());
        if left_ns == 0 || INTERVAL_NS.load(Ordering::Relaxed) != interval_ns {
            return;
        }
        if left_ns < SHORT_SLEEP_NS {
            clock::sleep_until(then_ns);
        } else {
            park_timeout(Duration::from_nanos(left_ns));
        }
    }
}
