//! The alarm that wakes the ticker while it only polls for blocks.
//!
//! No poll is needed before a thread has had the GVL for a while. So a thread that gets the GVL does not wake
//! the ticker. It sets the alarm, for a random instant before the next poll is due, and clears it when it
//! releases the GVL. Threads that run for a fraction of a millisecond, like those of an idle server, thus wake
//! no thread of ours.
//!
//! The alarm is a timer of the kernel. Its signal goes to the ticker, which blocks SIGPROF and waits for it
//! (`sigtimedwait`): no handler runs. Setting and clearing the timer are system calls. So the alarm is left to
//! ring if threads take turns quickly ([`TURNS`]).
//!
//! Without such a timer (macOS, or the user may have no more pending signals), the ticker sleeps from poll to
//! poll, and a thread that gets the GVL wakes it.

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{fence, AtomicU32, AtomicU64, AtomicU8, Ordering};
use ::core::time::Duration;

use crate::engine::random;
use crate::sys::{clock, posix_timer, sigprof};

/// The ticker does not wait for the alarm, or the alarm will ring whatever threads do.
const FIXED: u8 = 0;
/// The ticker waits, and the alarm is not set: no thread has the GVL.
const UNSET: u8 = 1;
/// The ticker waits, and the thread that has the GVL clears the alarm when it releases it.
const SET: u8 = 2;

/// Whether the alarm is fixed, unset or set.
static STATE: AtomicU8 = AtomicU8::new(FIXED);
/// The number of the timer plus one; 0 if there is none.
static TIMER: AtomicU64 = AtomicU64::new(0);
/// The mean time in nanoseconds between two polls of a thread that keeps the GVL.
static LOOK_NS: AtomicU64 = AtomicU64::new(0);
/// The time of the last poll, on the monotonic clock, in nanoseconds.
static LOOKED_NS: AtomicU64 = AtomicU64::new(0);
/// The time at which the alarm was last set, on the monotonic clock, in nanoseconds.
static SET_NS: AtomicU64 = AtomicU64::new(0);
/// The number of times that the alarm was cleared since the last poll, or since a pause as long as that
/// between two polls.
static TURNS: AtomicU32 = AtomicU32::new(0);

/// The number of times that the alarm is cleared between two polls. Setting and clearing it that often takes
/// less time than waking the ticker.
const MAX_TURNS: u32 = 4;
/// The time after which a thread that gets the GVL sees that the alarm is not set, or the ticker sees that
/// thread. Other processors see a store far sooner.
const SEEN_NS: u64 = 5_000;
/// The longest wait for the alarm, in case the ticker and a thread have missed each other after all.
const LONGEST: Duration = Duration::from_secs(60);

/// Creates the alarm of the calling thread, which is the ticker.
pub(super) fn create(native_id: i32) {
    if let Ok(number) = posix_timer::create_monotonic(native_id) {
        TIMER.store(number + 1, Ordering::Relaxed);
    }
}

/// Returns whether there is an alarm.
pub(super) fn exists() -> bool {
    TIMER.load(Ordering::Relaxed) != 0
}

/// Forgets the alarm in a forked child, which does not inherit timers.
pub(super) fn forget() {
    TIMER.store(0, Ordering::Relaxed);
    STATE.store(FIXED, Ordering::Relaxed);
}

/// Waits until a poll is due. `look_ns` is the mean time between two polls of a thread that keeps the GVL, and
/// `runs` returns whether a thread has it. For the ticker.
pub(super) fn wait(look_ns: u64, runs: impl Fn() -> bool) {
    LOOK_NS.store(look_ns, Ordering::Relaxed);
    TURNS.store(0, Ordering::Relaxed);
    let begun_ns = clock::monotonic_ns();
    STATE.store(UNSET, Ordering::Relaxed);
    // A thread that began to run meanwhile, and did not see that the alarm is not set, is seen here.
    fence(Ordering::SeqCst);
    let is_over = || clock::monotonic_ns() > begun_ns + SEEN_NS;
    let runs = loop {
        match (runs(), is_over()) {
            (false, false) => ::core::hint::spin_loop(),
            (runs, _) => break runs,
        }
    };
    if runs {
        set(begun_ns);
    }
    sigprof::wait_for_pending(LONGEST);
    STATE.store(FIXED, Ordering::Relaxed);
    LOOKED_NS.store(clock::monotonic_ns(), Ordering::Relaxed);
}

/// Adapts a wait of the ticker to the sessions that run from now on. `look_ns` is the mean time between two
/// polls; `None` if the ticker has to do more than poll.
///
/// If the ticker waits for polls as far apart as before, it is not woken, which would take longer than all
/// else at the start of a session. The caller has the GVL.
pub(super) fn adapt(look_ns: Option<u64>) {
    match look_ns {
        Some(look_ns) if look_ns == LOOK_NS.load(Ordering::Relaxed) => thread_runs(clock::monotonic_ns()),
        _ => set_timer(1), // rings now
    }
}

/// Clears the alarm, and takes its signal if it has rung already.
pub(super) fn silence() {
    if exists() {
        set_timer(0);
        while sigprof::take_pending() {}
    }
}

/// Sets the alarm if the ticker waits for it: the calling thread has got the GVL at `now_ns`.
///
/// *Runs on:* that thread, in hooks on the GVL. *Calls:* a timer's system call. *Never:* waits.
#[inline]
pub(crate) fn thread_runs(now_ns: u64) {
    if STATE.load(Ordering::Relaxed) == UNSET {
        set(now_ns);
    }
}

/// Clears the alarm if a thread has set it: the calling thread releases the GVL.
///
/// *Runs on:* that thread, in hooks on the GVL, before another one gets it. *Calls:* a timer's system call.
/// *Never:* waits.
#[inline]
pub(crate) fn thread_waits() {
    if STATE.load(Ordering::Relaxed) == SET {
        clear();
    }
}

#[cold]
fn set(now_ns: u64) {
    // Threads with the GVL, of which there is one at a time, and the ticker run this.
    let relaxed = Ordering::Relaxed;
    if STATE.compare_exchange(UNSET, SET, relaxed, relaxed).is_err() {
        return;
    }
    let look_ns = LOOK_NS.load(Ordering::Relaxed);
    if now_ns.saturating_sub(SET_NS.swap(now_ns, Ordering::Relaxed)) > look_ns {
        TURNS.store(0, Ordering::Relaxed);
    }
    set_timer(due_in_ns(now_ns, LOOKED_NS.load(Ordering::Relaxed), look_ns, random()).max(1));
}

#[cold]
fn clear() {
    let keeps = TURNS.fetch_add(1, Ordering::Relaxed) >= MAX_TURNS;
    let after = if keeps { FIXED } else { UNSET };
    if STATE.compare_exchange(SET, after, Ordering::Relaxed, Ordering::Relaxed).is_ok() && !keeps {
        set_timer(0);
    }
}

/// Returns the time until the next poll, if the last one was at `looked_ns`. Polls of a thread that keeps the
/// GVL are three to five quarters of `look_ns` apart, so that no program falls into step with them, and no gap
/// is far longer than another. After a pause, the poll may come at any instant of the longest gap: the chance
/// to find a short block is then in proportion to its length, wherever it is in the turn of its thread.
fn due_in_ns(now_ns: u64, looked_ns: u64, look_ns: u64, random: u64) -> u64 {
    let next_ns = looked_ns + look_ns / 4 * 3 + random % (look_ns / 2).max(1);
    match next_ns.checked_sub(now_ns) {
        Some(left_ns) => left_ns,
        None => random % (look_ns / 4 * 5).max(1),
    }
}

/// Sets the timer, which rings once; 0 clears it.
fn set_timer(after_ns: u64) {
    if let Some(number) = TIMER.load(Ordering::Relaxed).checked_sub(1) {
        // The timer exists as long as its number is here.
        let _ = posix_timer::set(number, after_ns, 0);
    }
}
