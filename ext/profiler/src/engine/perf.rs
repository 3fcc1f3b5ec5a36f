//! The kernel's own counter of a thread's CPU time (`perf_event_open`, task clock). It ticks as finely as requested, and only
//! while the thread computes.
//!
//! A counter that ticked in the kernel as well would end system calls: the signal of a tick at the beginning of a call
//! arrives as the call begins to wait, which then fails with EINTR. So the counter leaves out time in the kernel
//! (`exclude_kernel`), and the thread keeps its timer beside it ([`thread_timer`](super::thread_timer)): that one ticks more
//! seldom, but where the thread leaves the kernel. `threads/state/kernel_time.rs` tells which time is whose.
//!
//! The system may refuse counters (containers often do). They need kernel.perf_event_paranoid at 2 or less, or privileges.

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use crate::engine::no_tick::NoTick;
use crate::sys::clock;
use crate::sys::native_thread;
use crate::sys::perf_counter;
use crate::sys::siginfo::TimerInfo;
use crate::threads::{self, ThreadState};

/// Has the counter of `state` tick at that interval, and creates it if there is none.
///
/// # Errors
/// The errno: EACCES, EPERM or ENOSYS where it is refused, EMFILE without a file descriptor to spare.
pub(crate) fn arm(state: &ThreadState, interval_ns: u64) -> Result<(), i32> {
    if super::is_halted() {
        return Ok(());
    }
    state.kernel_time.restart(0);
    if let Some(fd) = fd_of(state).filter(|fd| perf_counter::is_ours(*fd)) {
        return perf_counter::set_period(fd, interval_ns);
    }
    if !has_spare_descriptors() {
        REFUSED_NS.store(clock::monotonic_ns(), Ordering::Relaxed);
        return Err(::libc::EMFILE);
    }
    let fd = perf_counter::open(state.native_id(), interval_ns)?;
    OPEN.fetch_add(1, Ordering::Relaxed);
    // Before the first tick, as the handler checks whose descriptor it is.
    state.perf.fd.store(fd + 1, Ordering::Release);
    let enabled = perf_counter::enable(fd, state.native_id());
    if enabled.is_err() {
        state.perf.fd.store(0, Ordering::Release);
        OPEN.fetch_sub(1, Ordering::Relaxed);
        perf_counter::close(fd);
    }
    enabled
}

/// The number of open counters.
static OPEN: AtomicU64 = AtomicU64::new(0);
/// The time at which a thread last got no counter, for the sake of the app's own descriptors: monotonic clock, ns; 0 is never.
static REFUSED_NS: AtomicU64 = AtomicU64::new(0);
/// The share of counters: at most one in so many of the descriptors that a process may have.
const SHARE: u64 = 8;
/// The number of the highest descriptors that have to be free, at most.
const RESERVED: u64 = 16;

/// Whether a counter may take one of the descriptors that this process may have (`ulimit -n`). Counters together take an eighth
/// of them, and none where few are left. The system allocates the lowest one that is free, so the highest are the last to go, and
/// these are checked. To open a descriptor and see its number could take the one that the app needs at that instant.
pub(super) fn has_spare_descriptors() -> bool {
    let mut limit = ::libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel fills what it is handed.
    let known = unsafe { ::libc::getrlimit(::libc::RLIMIT_NOFILE, &raw mut limit) } == 0;
    let most = limit.rlim_cur;
    // A limit above the highest possible descriptor is none.
    if !known || i32::try_from(most).is_err() {
        return true;
    }
    let reserved = RESERVED.min(u64::div_ceil(most, SHARE));
    // SAFETY: asks about a number.
    let is_free = |fd: u64| unsafe { ::libc::fcntl(fd as ::libc::c_int, ::libc::F_GETFD) } < 0;
    OPEN.load(Ordering::Relaxed) < most / SHARE && (most.saturating_sub(reserved)..most).all(is_free)
}

/// Whether a thread was left without a counter since then, as descriptors are few.
pub(crate) fn lacked_descriptors_since(monotonic_ns: u64) -> bool {
    REFUSED_NS.load(Ordering::Relaxed) > monotonic_ns
}

/// Has the counter of `state`, if it has one, begin its interval anew.
///
/// # Signal safety
/// A system call that waits for nobody. It runs on the thread that the counter is about, so nobody closes that meanwhile.
pub(crate) fn restart_period(state: &ThreadState, interval_ns: u64) {
    if let Some(fd) = fd_of(state) {
        state.kernel_time.restart(0);
        let _ = perf_counter::set_period(fd, interval_ns);
    }
}

/// Whether the kernel allows counters. It is asked once; a refusal for want of a file descriptor does not count.
///
/// # Errors
/// As for [`arm`].
pub(crate) fn probe() -> Result<(), i32> {
    const UNKNOWN: i32 = -1;
    static ANSWER: AtomicI32 = AtomicI32::new(UNKNOWN);
    match ANSWER.load(Ordering::Relaxed) {
        UNKNOWN => {}
        0 => return Ok(()),
        errno => return Err(errno),
    }
    let answer = perf_counter::open(native_thread::native_id(), 1_000_000_000).map(perf_counter::close);
    let known = match answer {
        Ok(()) => 0,
        Err(::libc::EMFILE | ::libc::ENFILE | ::libc::ENOMEM) => UNKNOWN,
        Err(errno) => errno,
    };
    ANSWER.store(known, Ordering::Relaxed);
    answer
}

fn fd_of(state: &ThreadState) -> Option<i32> {
    Some(state.perf.fd.load(Ordering::Acquire) - 1).filter(|fd| *fd >= 0)
}

/// The thread whose counter sent a signal, if it is the calling one. The kernel puts the descriptor where timers have their value.
#[inline]
pub(crate) fn owner_of(info: &TimerInfo) -> Result<&'static ThreadState, NoTick> {
    let has =
        |state: &&ThreadState| state.perf.fd.load(Ordering::Relaxed) == (info.value() as i32).wrapping_add(1);
    threads::current_native().filter(has).ok_or(NoTick::Foreign)
}

/// The signal of the counter of `state`, if it has one.
#[cfg(feature = "testing")]
pub(crate) fn signal_of(state: &ThreadState) -> Option<TimerInfo> {
    fd_of(state).map(TimerInfo::of_descriptor)
}

/// Whether `state` has a counter.
pub(crate) fn is_armed(state: &ThreadState) -> bool {
    fd_of(state).is_some()
}

/// Ends the counter of `state`, if it has one. A tick that is on its way may still arrive. A forked child does this as well,
/// with the descriptors that it has inherited: to close one there leaves the parent's open.
pub(crate) fn disarm(state: &ThreadState) {
    let fd = state.perf.fd.swap(0, Ordering::AcqRel) - 1;
    if fd < 0 {
        return;
    }
    OPEN.fetch_sub(1, Ordering::Relaxed);
    // Whoever swaps it out is the only one to close it.
    if perf_counter::is_ours(fd) {
        perf_counter::close(fd);
    }
}
