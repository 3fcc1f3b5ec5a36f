//! A native thread that does, in rounds, what no timer does.
//!
//! If wall clocks are measured, it polls for a thread that is blocked with the GVL ([`blocks`]). As the
//! engine `ticker` it sends a tick to each thread that runs, at a random instant of each interval, as finely
//! as requested.
//!
//! It spares threads that do not run: a thread that is known to block, one whose CPU clock stands still, and
//! one that the kernel says is asleep. A signal there would yield no information, and end a system call with
//! EINTR. For each thread and tick it reads two clocks from the kernel. A forked child does not inherit the
//! ticker, and gets one of its own.
//!
//! If no hook reports waits, it samples the wall clocks as well, with any engine. A thread that waits is then
//! sent a tick too, but seldom (`core/sampling/estimated_wall_clock.rs`).
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
use crate::engine::{alarm, blocks, setitimer};
use crate::shared::CAPTURE;
use crate::sys::native_thread;
use crate::sys::siginfo::TimerInfo;
use crate::sys::system_call::may_be_interrupted;
use crate::sys::{clock, sigprof};
use crate::threads::{self, ThreadState};

/// The least CPU time in nanoseconds between two ticks of a thread, unless an eighth of the interval is more.
/// It is far more than a thread needs to be interrupted and to block again; otherwise a thread that blocks
/// with the GVL would be interrupted for ever.
const MIN_CPU_NS: u64 = 20_000;

fn min_cpu_ns(interval_ns: u64) -> u64 {
    MIN_CPU_NS.max(interval_ns / 8)
}

/// The time below which the ticker sleeps in a way that no other thread can end. Of the 40 us that a round
/// takes, that saves 3 us. At the default interval all sleeps are shorter than this.
const SHORT_SLEEP_NS: u64 = 2_000_000;

/// The interval of the rounds in nanoseconds; 0 while the ticker is parked.
static INTERVAL_NS: AtomicU64 = AtomicU64::new(0);
/// True if the ticker is the engine of all threads, and not only of those whose wall clocks are sampled.
pub(crate) static IS_ENGINE: AtomicBool = AtomicBool::new(false);
/// The native id of the ticker's thread; 0 if there is none.
static NATIVE_ID: AtomicI32 = AtomicI32::new(0);
/// The ticker's thread, once it was needed. It is leaked, for callers that may neither lock nor free.
static TICKER: AtomicPtr<Thread> = AtomicPtr::new(null_mut());
/// The number of ticks sent for sampled wall clocks.
static WALL_TICKS: AtomicU64 = AtomicU64::new(0);
/// True while the ticker sleeps until a thread runs.
static IDLE: AtomicBool = AtomicBool::new(false);
/// The time in nanoseconds for which no thread must have run before the ticker sleeps like that. Waking it
/// takes a while on a busy machine. So it does this for apps that wait for their next request, not for those
/// between two system calls.
const PATIENCE_NS: u64 = 100_000_000;

/// Returns that time for rounds that come every `interval_ns`. If the ticker only polls for blocks, one round
/// without a running thread is enough, as rounds are far apart.
fn patience_ns(interval_ns: u64) -> u64 {
    match IS_ENGINE.load(Ordering::Relaxed) {
        true => PATIENCE_NS,
        false => interval_ns,
    }
}

/// The longest sleep of that kind, in case the ticker and a thread that began to run have missed each other
/// after all.
const LONGEST_IDLE: Duration = Duration::from_secs(10);
/// The time after which a thread that began to run sees that the ticker is about to sleep, or the ticker sees
/// that it runs. Other processors see a store far sooner.
const SEEN: Duration = Duration::from_micros(100);

/// The time in microseconds from the decision for a tick to sending it: for specs.
#[cfg(feature = "testing")]
pub(crate) static SLOW_TICKS_US: AtomicU64 = AtomicU64::new(0);

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

/// Returns the number of ticks sent in this process for sampled wall clocks, some of them to threads that
/// wait.
pub(crate) fn wall_ticks() -> u64 {
    WALL_TICKS.load(Ordering::Relaxed)
}

/// Returns the native id of the ticker's thread; 0 if there is none.
pub(crate) fn native_id() -> i32 {
    NATIVE_ID.load(Ordering::Relaxed)
}

/// Forgets the ticker in a forked child: its thread is the parent's.
pub(crate) fn forget() {
    INTERVAL_NS.store(0, Ordering::Relaxed);
    NATIVE_ID.store(0, Ordering::Relaxed);
    WALL_TICKS.store(0, Ordering::Relaxed);
    TICKER.store(null_mut(), Ordering::Relaxed);
    IDLE.store(false, Ordering::Relaxed);
    round::forget();
    alarm::forget();
}

fn work() {
    native_thread::sleep_precisely();
    NATIVE_ID.store(native_thread::native_id(), Ordering::Relaxed);
    if !before_3_3::NEEDED {
        alarm::create(native_thread::native_id());
    }
    let receives = Cell::new(false);
    let mut chance = super::random() | 1;
    let mut slot_ns = clock::monotonic_ns();
    let (mut busy_ns, mut last_round_ns, mut last_look_ns) = (slot_ns, 0, 0);
    loop {
        if setitimer::is_ours() && !receives.get() {
            alarm::silence();
        }
        setitimer::receive_here(&receives);
        let interval_ns = INTERVAL_NS.load(Ordering::Relaxed);
        if interval_ns == 0 {
            park();
            slot_ns = clock::monotonic_ns();
            busy_ns = slot_ns;
            continue;
        }
        let look_ns = LOOK_NS.load(Ordering::Relaxed);
        let only_looks = only_looks(look_ns);
        if only_looks && alarm::exists() && !setitimer::is_ours() {
            alarm::wait(look_ns, || threads::gvl_holder::running().is_some());
            let _round = Round::begin();
            if is_wanted() {
                blocks::look();
            }
            slot_ns = clock::monotonic_ns();
            busy_ns = slot_ns;
            continue;
        }
        let idle = is_idle();
        if !idle {
            busy_ns = slot_ns;
        } else if slot_ns.saturating_sub(busy_ns) > patience_ns(interval_ns) {
            IDLE.store(true, Ordering::SeqCst);
            // Checked again, as a thread that began to run in between did not see that the ticker sleeps.
            sleep(SEEN);
            if is_idle() {
                park_timeout(LONGEST_IDLE);
            }
            IDLE.store(false, Ordering::Relaxed);
            slot_ns = clock::monotonic_ns();
            continue;
        }
        chance = rng::after(chance);
        let (first_ns, span_ns) = if only_looks {
            // Timed from one poll to the next, so that no program falls into step with them, and no gap is far
            // longer than another.
            (last_look_ns.max(slot_ns - interval_ns) + interval_ns * 3 / 4, interval_ns / 2)
        } else {
            // No sooner than a thread can have run enough since the last round: waking up is most of the
            // overhead of a tick.
            let first_ns = slot_ns.max(last_round_ns + min_cpu_ns(interval_ns));
            (first_ns, (slot_ns + interval_ns).saturating_sub(first_ns))
        };
        sleep_until(first_ns + chance % span_ns.max(1), interval_ns);
        let now_ns = clock::monotonic_ns();
        last_round_ns = now_ns;
        let round = Round::begin();
        if is_wanted() && look_ns > 0 && now_ns - last_look_ns >= look_ns / 2 {
            last_look_ns = now_ns;
            blocks::look();
        }
        if is_wanted() && !only_looks {
            let mut waited_for = None;
            // A thread that no session profiles ticks for the threads that wait for it.
            let mut is_visited = |state: &ThreadState| {
                !state.wanted.only_blamed.load(Ordering::Relaxed)
                    || *waited_for.get_or_insert_with(threads::any_waits_for_gvl)
            };
            threads::live().filter(|it| is_visited(it)).for_each(|it| visit(it, slot_ns, now_ns));
        }
        drop(round);
        slot_ns += interval_ns;
        let missed = now_ns.saturating_sub(slot_ns) / interval_ns;
        slot_ns += missed * interval_ns;
        if let (1.., false, Some(hub)) = (missed, only_looks, CAPTURE.hub()) {
            add(&hub.counters.overrun, missed);
        }
    }
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
    match IS_ENGINE.load(Ordering::Relaxed) {
        true => all_blocked(),
        false => threads::gvl_holder::running().is_none(),
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
        .all(|it| waits_are_measured(it) && it.walls.gvl_wait_since_ns() == 0)
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

/// Sends the thread a tick, if it is its turn in the round that began at `slot_ns`, and it has run.
fn visit(state: &'static ThreadState, slot_ns: u64, now_ns: u64) {
    let interval_ns = state.wanted.interval_ns.load(Ordering::Relaxed);
    // A thread that is sampled less often than others is skipped now and then, as is one that must run first.
    if interval_ns == 0 || now_ns < state.ticker.next_tick_ns.load(Ordering::Relaxed) {
        return;
    }
    if state.polled.are_on() {
        state.ticker.next_tick_ns.store(slot_ns + interval_ns, Ordering::Relaxed);
        return poll(state, now_ns);
    }
    if !IS_ENGINE.load(Ordering::Relaxed) {
        return;
    }
    if waits_are_measured(state) {
        return;
    }
    let Some(cpu_ns) = clock::cpu_ns_of(state.native_id()) else { return };
    if state.ticker.visited_cpu_ns.swap(cpu_ns, Ordering::Relaxed) == cpu_ns {
        return; // has not run since the last round
    }
    if cpu_ns.wrapping_sub(state.ticker.ticked_cpu_ns.load(Ordering::Relaxed)) < min_cpu_ns(interval_ns) {
        return;
    }
    // A thread that has run and is asleep by now is caught another time: its next sample includes the time
    // that it ran.
    if clock::cpu_ns_of(state.native_id()) == Some(cpu_ns) && clock::is_asleep(state.native_id()) {
        return;
    }
    state.ticker.ticked_cpu_ns.store(cpu_ns, Ordering::Relaxed);
    state.ticker.next_tick_ns.store(slot_ns + interval_ns, Ordering::Relaxed);
    state.ticker.signal.announce();
    if waits_are_measured(state) {
        return state.ticker.signal.retract();
    }
    #[cfg(feature = "testing")]
    ::std::thread::sleep(Duration::from_micros(SLOW_TICKS_US.load(Ordering::Relaxed)));
    tick(state);
}

/// Polls a thread whose waits no hook reports. A tick that would end a call of C code is not sent: the thread
/// is asked by a job instead, which reaches it if it is blocked with the GVL.
fn poll(state: &'static ThreadState, now_ns: u64) {
    let cpu_ns = clock::cpu_ns_of(state.native_id());
    if let (true, Some(cpu_ns)) = (state.block.is_asked(), cpu_ns) {
        if state.block.used_since(cpu_ns) == 0 {
            return; // still in the same call
        }
    }
    if !state.polled.poll(now_ns, cpu_ns) {
        return;
    }
    if may_be_interrupted(state.native_id(), true) {
        add(&WALL_TICKS, 1);
        return tick(state);
    }
    state.block.used_since(cpu_ns.unwrap_or(0));
    blocks::ask(state);
}

/// Returns whether the thread waits and a tick would yield nothing new, as its waits are measured and no
/// session measures its CPU time.
fn waits_are_measured(state: &ThreadState) -> bool {
    state.walls.is_suspended() && !state.wanted.cpu.load(Ordering::Relaxed)
}

/// Sends the signal that the timer of a thread would send: the kernel lets a process send itself such a
/// signal.
pub(crate) fn tick(state: &'static ThreadState) {
    // A thread that has ended needs none.
    let _ = TimerInfo::with(::core::ptr::from_ref(state) as usize).send(state.native_id());
}
