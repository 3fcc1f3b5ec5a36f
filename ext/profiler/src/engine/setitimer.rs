//! The timer `setitimer(ITIMER_PROF)`: one for the whole process, on the CPU clock of all its threads
//! together. It is portable, and the only way if the system has no timers for single threads.
//!
//! The kernel raises SIGPROF on the thread that used the CPU when the clock crossed the interval, at most
//! once per tick of its own. The signal does not say which thread's tick it is, so the handler looks that up.
//! A forked child has no such timer. A program that this process turns into (exec) would inherit it and be
//! ended by its signal, so the timer is disarmed before.

use ::core::cell::Cell;
use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicBool, Ordering};

use crate::engine::NoTick;
use crate::shared::CAPTURE;
use crate::sys::{errno, sigprof};
use crate::threads::{self, ThreadState};

/// Whether the timer of the process is armed, by us.
static OURS: AtomicBool = AtomicBool::new(false);

/// Arms the timer, which then fires each time that the process has used this much CPU time; 0 disarms it.
///
/// # Errors
/// The errno.
pub(crate) fn arm(interval_ns: u64) -> Result<(), i32> {
    if interval_ns > 0 && super::is_halted() {
        return Ok(());
    }
    // The first tick comes after a random part of the interval, so that a program cannot fall into step with
    // the ticks.
    let first_ns = if interval_ns == 0 { 0 } else { 1_000 + super::random() % interval_ns };
    let times = ::libc::itimerval { it_interval: timeval(interval_ns), it_value: timeval(first_ns) };
    // SAFETY: `times` is ours to read.
    match unsafe { ::libc::setitimer(::libc::ITIMER_PROF, &times, ::core::ptr::null_mut()) } {
        0 => {
            OURS.store(interval_ns > 0, Ordering::Relaxed);
            Ok(())
        }
        _ => Err(errno::get()),
    }
}

/// Disarms the timer if it is ours.
pub(crate) fn disarm() {
    if is_ours() {
        let _ = arm(0);
    }
}

/// Returns whether we armed the timer.
pub(crate) fn is_ours() -> bool {
    OURS.load(Ordering::Relaxed)
}

/// Forgets the timer in a forked child, which does not inherit it.
pub(crate) fn forget() {
    OURS.store(false, Ordering::Relaxed);
}

/// Unblocks SIGPROF on the calling thread, one of our own, while the timer is ours, and blocks it otherwise.
/// If the thread that used the CPU blocks the signal, the kernel raises it on another thread, usually the
/// main thread, and ends the system call in which that thread waits. `receives` holds which of these it was.
pub(crate) fn receive_here(receives: &Cell<bool>) {
    match (is_ours(), receives.get()) {
        (true, false) => sigprof::unblock_here(),
        (false, true) => sigprof::block_here(),
        _ => return,
    }
    receives.set(!receives.get());
}

/// Returns whether the timer is armed, by any code in the process.
pub(crate) fn is_armed() -> bool {
    // SAFETY: all fields may be zero; the call only writes `times`.
    unsafe {
        let mut times: ::libc::itimerval = ::core::mem::zeroed();
        ::libc::getitimer(::libc::ITIMER_PROF, &mut times);
        times.it_value.tv_sec != 0 || times.it_value.tv_usec != 0
    }
}

/// Returns the calling thread, which received a tick, if a session profiles it. The timer of the process
/// knows neither.
#[inline]
pub(crate) fn owner() -> Result<&'static ThreadState, NoTick> {
    if !CAPTURE.process_wide.load(Ordering::Relaxed) {
        return Err(NoTick::Foreign);
    }
    let is_profiled = |state: &&ThreadState| state.wanted.interval_ns.load(Ordering::Relaxed) > 0;
    threads::current_native().filter(is_profiled).ok_or(NoTick::Unwanted)
}

fn timeval(ns: u64) -> ::libc::timeval {
    ::libc::timeval {
        tv_sec: (ns / 1_000_000_000) as ::libc::time_t,
        tv_usec: (ns % 1_000_000_000 / 1_000) as ::libc::suseconds_t,
    }
}
