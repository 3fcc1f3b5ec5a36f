//! A native thread that sends each thread that runs a tick, at a random moment of each interval, as fine as is asked.
//!
//! It spares whoever does not run: a thread that blocks, where that is known, and one whose CPU clock stands still
//! since its last tick. A signal there would say nothing, and end a system call with EINTR. It asks the kernel for one
//! clock a thread and tick. A forked child has no such thread, and gets one of its own.
//!
//! Where no hook tells of waits, it looks after the wall clocks as well, whatever the engine: who waits is then sent a tick
//! too, but seldom (`core/sampled.rs`).

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use ::std::io;
use ::std::sync::Mutex;
use ::std::thread::{park, park_timeout, Builder, Thread};
use ::std::time::Duration;

use ::profiler_core::counters::add;
use ::profiler_core::random;

use crate::capture::handler::TimerInfo;
use crate::capture::{clock, sigaction, CAPTURE};
use crate::threads::{self, ThreadState};

/// What a thread must have run since its last tick to get another one, ns: this, and an eighth of the interval. Far more
/// than it takes to be interrupted and to block again, or whoever blocks with the GVL held would be interrupted for ever.
const RAN_NS: u64 = 20_000;

/// How often it goes round, ns; 0 while it rests.
static INTERVAL_NS: AtomicU64 = AtomicU64::new(0);
/// It is what fires, for all threads, and not only for those whose wall clocks are sampled.
pub(crate) static IS_ENGINE: AtomicBool = AtomicBool::new(false);
/// CPU time that it has used, ns.
static USED_NS: AtomicU64 = AtomicU64::new(0);
/// Who it is, once it was needed. Taken under the sampler lock alone, so never held across a fork by another thread.
static TICKER: Mutex<Option<Thread>> = Mutex::new(None);

/// Has it go round at that interval, the finest of all threads; 0 lets it rest.
///
/// # Errors
/// The errno, when there is no thread to be had.
pub(crate) fn arm(interval_ns: u64) -> Result<(), i32> {
    if INTERVAL_NS.swap(interval_ns, Ordering::Relaxed) == interval_ns {
        return Ok(());
    }
    let no_thread = |failure: io::Error| {
        INTERVAL_NS.store(0, Ordering::Relaxed); // or the next call would believe that it ticks
        failure.raw_os_error().unwrap_or(::libc::EAGAIN)
    };
    let mut ticker = TICKER.lock().unwrap_or_else(::std::sync::PoisonError::into_inner);
    if let Some(thread) = &*ticker {
        thread.unpark();
    } else if interval_ns > 0 {
        let spawned = sigaction::without_signals(|| Builder::new().name("profiler tick".into()).spawn(work));
        *ticker = Some(spawned.map_err(no_thread)?.thread().clone());
    }
    Ok(())
}

/// CPU time that it has used in this process, ns.
pub(crate) fn used_ns() -> u64 {
    USED_NS.load(Ordering::Relaxed)
}

/// In a forked child: it is the parent's.
pub(crate) fn forget() {
    INTERVAL_NS.store(0, Ordering::Relaxed);
    USED_NS.store(0, Ordering::Relaxed);
    if let Ok(mut ticker) = TICKER.try_lock() {
        // Its handle is leaked: to drop it would touch what that thread may have held.
        ::core::mem::forget(ticker.take());
    }
}

fn work() {
    // Sleeps end when they should, not up to 50 us later. A hint: nothing depends on it.
    // SAFETY: a number for the thread that we are on.
    unsafe { ::libc::prctl(::libc::PR_SET_TIMERSLACK, 1) };
    let mut chance = super::random() | 1;
    let mut slot_ns = clock::monotonic_ns();
    loop {
        let interval_ns = INTERVAL_NS.load(Ordering::Relaxed);
        if interval_ns == 0 {
            park();
            slot_ns = clock::monotonic_ns();
            continue;
        }
        chance = random::after(chance);
        sleep_until(slot_ns + chance % interval_ns, interval_ns);
        let now_ns = clock::monotonic_ns();
        if CAPTURE.enabled.load(Ordering::Relaxed) {
            threads::live().for_each(|state| visit(state, slot_ns, now_ns));
        }
        USED_NS.store(clock::thread_cpu_ns(), Ordering::Relaxed);
        slot_ns += interval_ns;
        let missed = now_ns.saturating_sub(slot_ns) / interval_ns;
        if let (1.., Some(hub)) = (missed, CAPTURE.hub()) {
            slot_ns += missed * interval_ns;
            add(&hub.counters.overrun, missed);
        }
    }
}

/// Or until the interval is another one.
fn sleep_until(then_ns: u64, interval_ns: u64) {
    loop {
        let left_ns = then_ns.saturating_sub(clock::monotonic_ns());
        if left_ns == 0 || INTERVAL_NS.load(Ordering::Relaxed) != interval_ns {
            return;
        }
        park_timeout(Duration::from_nanos(left_ns));
    }
}

/// Sends the thread a tick, if it is its turn in the round that began at `slot_ns`, and it has run.
fn visit(state: &'static ThreadState, slot_ns: u64, now_ns: u64) {
    let interval_ns = state.interval_ns.load(Ordering::Relaxed);
    // One at which nobody looks as often as at others is left out now and then.
    if interval_ns == 0 || slot_ns < state.next_tick_ns.load(Ordering::Relaxed) {
        return;
    }
    if state.sampled.is_on() {
        state.next_tick_ns.store(slot_ns + interval_ns, Ordering::Relaxed);
        return match clock::cpu_ns_of(state.native_id()) {
            Some(cpu_ns) if state.sampled.look(now_ns, cpu_ns) => tick(state),
            Some(_) => {}
            None => state.sampled.end(now_ns, None),
        };
    }
    if !IS_ENGINE.load(Ordering::Relaxed) {
        return;
    }
    // Its waits are measured, so nothing is to be learnt; unless a session wants to know of its CPU.
    if state.walls.is_blocked() && !state.cpu_wanted.load(Ordering::Relaxed) {
        return;
    }
    let Some(cpu_ns) = clock::cpu_ns_of(state.native_id()) else { return };
    if cpu_ns.wrapping_sub(state.ticked_cpu_ns.load(Ordering::Relaxed)) < RAN_NS.max(interval_ns / 8) {
        return;
    }
    state.ticked_cpu_ns.store(cpu_ns, Ordering::Relaxed);
    state.next_tick_ns.store(slot_ns + interval_ns, Ordering::Relaxed);
    tick(state);
}

/// Sends what the timer of a thread would send: the kernel lets a process say so of itself.
pub(crate) fn tick(state: &'static ThreadState) {
    let info = TimerInfo::of(state);
    // SAFETY: it is as large as a siginfo; a thread that is gone is an error that we ignore.
    unsafe {
        ::libc::syscall(
            ::libc::SYS_rt_tgsigqueueinfo,
            ::libc::getpid(),
            state.native_id(),
            ::libc::SIGPROF,
            &raw const info,
        );
    }
}
