//! A POSIX timer on the CPU clock of each thread, delivered to that very thread.
//!
//! It ticks only while its thread uses CPU, so a waiting thread gets no EINTR from us. It fires at most once
//! per tick of the kernel (250 a second at CONFIG_HZ=250), and reports the ticks that it skipped as overrun.
//! It does not outlive exec, and a forked child does not inherit it.
//!
//! The kernel names a timer by a number. Once the timer is deleted, the number can be that of another one:
//! the app's own, or that of the next thread in this state. Threads end without the lock of the sampler, and
//! on Ruby 3.1 without the GVL. So a timer is touched only under a claim (`core/claim.rs`).
//!
//! At CONFIG_HZ=250 a requested interval of 1 ms thus results in a sample every 4 ms. Every header states
//! both the requested and the actual interval. Overrun (`si_overrun`) is a figure, not a weight.

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicBool, Ordering};

use crate::engine::NoTick;
use crate::shared::CAPTURE;
use crate::sys::native_thread;
use crate::sys::posix_timer;
use crate::sys::siginfo::TimerInfo;
use crate::threads::{self, ThreadState};

/// Arms the timer of `state` at that interval. Creates it if there is none, and does not change it if it
/// already has that interval. The first tick comes after a random part of the interval. So short threads get
/// their share of ticks, and a program cannot fall into step with them.
///
/// # Errors
/// The errno: EAGAIN if the user's quota of pending signals is used up (`ulimit -i`).
pub(crate) fn arm(state: &'static ThreadState, interval_ns: u64) -> Result<(), i32> {
    if super::is_halted() {
        return Ok(());
    }
    if state.timer.number.is_there() {
        // A timer that is claimed or gone by now belongs to a thread that ends.
        let Some(claim) = state.timer.number.claim() else { return Ok(()) };
        let as_ever = state.timer.interval_ns.load(Ordering::Relaxed) == interval_ns;
        let armed = if as_ever { Ok(()) } else { set(claim.number(), interval_ns) };
        if armed.is_ok() {
            state.timer.interval_ns.store(interval_ns, Ordering::Relaxed);
        }
        posix_timer::delete(claim.release());
        return armed;
    }
    let timer = posix_timer::create(state.native_id(), ::core::ptr::from_ref(state) as usize)?;
    if let Err(failure) = set(timer, interval_ns) {
        posix_timer::delete(Some(timer));
        return Err(failure);
    }
    state.timer.interval_ns.store(interval_ns, Ordering::Relaxed);
    state.timer.number.put(timer);
    Ok(())
}

/// Returns the thread whose timer sent a signal, or to which the ticker sent it as its timer would.
#[inline]
pub(crate) fn owner_of(info: &TimerInfo) -> Result<&'static ThreadState, NoTick> {
    threads::at(info.value()).ok_or(NoTick::Foreign)
}

/// Returns the calling thread, if a session profiles it. A timer sent it a signal whose contents the kernel
/// could not keep.
#[inline]
pub(crate) fn owner_of_empty() -> Result<&'static ThreadState, NoTick> {
    let is_profiled = |state: &&ThreadState| state.wanted.interval_ns.load(Ordering::Relaxed) > 0;
    let aimed = CAPTURE.aimed.load(Ordering::Relaxed);
    threads::current_native().filter(|state| aimed && is_profiled(state)).ok_or(NoTick::Foreign)
}

/// Checks that the kernel creates such timers. The one that it is asked for is never armed, and is deleted
/// immediately. Once the kernel has created one, it is not asked again.
///
/// # Errors
/// Same as for [`arm`].
pub(crate) fn probe() -> Result<(), i32> {
    static WORKS: AtomicBool = AtomicBool::new(false);
    if !WORKS.load(Ordering::Relaxed) {
        let timer = posix_timer::create(native_thread::native_id(), 0)?;
        posix_timer::delete(Some(timer));
        WORKS.store(true, Ordering::Relaxed);
    }
    Ok(())
}

fn set(number: u64, interval_ns: u64) -> Result<(), i32> {
    posix_timer::set(number, 1 + super::random() % interval_ns.max(1), interval_ns)
}

/// Deletes the timer of `state`, if it has one. A tick that is on its way may still arrive.
pub(crate) fn disarm(state: &ThreadState) {
    posix_timer::delete(state.timer.number.take());
}
