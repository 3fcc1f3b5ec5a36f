//! The kernel's own counter of a thread's CPU time (`perf_event_open`, task clock). It ticks as finely as
//! requested, and only while the thread computes.
//!
//! A counter that ticked in the kernel as well would end system calls: the signal of a tick at the beginning
//! of a call arrives as the call begins to wait, which then fails with EINTR. So the counter omits time in
//! the kernel (`exclude_kernel`), and the thread keeps its timer beside it
//! ([`thread_timer`](super::thread_timer)). The timer ticks less often, but where the thread leaves the
//! kernel. `threads/state/kernel_time.rs` decides which of the two accounts for which time.
//!
//! The system may refuse counters (containers often do). They need kernel.perf_event_paranoid at 2 or less,
//! or privileges.

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use crate::engine::NoTick;
use crate::sys::clock;
use crate::sys::native_thread;
use crate::sys::perf_counter;
use crate::sys::siginfo::TimerInfo;
use crate::threads::{self, ThreadState};

/// Arms the counter of `state` at that interval, and creates it if there is none.
///
/// # Errors
/// The errno: EACCES, EPERM or ENOSYS if it is refused, EMFILE without a file descriptor to spare.
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
    // Stored before the first tick, as the handler checks which thread the descriptor belongs to.
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
/// The time at which a thread was last refused a counter, to leave descriptors to the app: monotonic clock,
/// in nanoseconds; 0 means never.
static REFUSED_NS: AtomicU64 = AtomicU64::new(0);
/// The fraction of a process's descriptors that counters may have: at most one in this many.
const SHARE: u64 = 8;
/// The number of the highest descriptors that must be free, at most.
const RESERVED: u64 = 16;

/// Returns whether a counter may take one of the descriptors that this process may have (`ulimit -n`).
/// Counters together take an eighth of them, and none if few are left. The system allocates the lowest free
/// descriptor, so the highest are the last to go, and only these are checked. Opening a descriptor to see its
/// number could take the one that the app needs at that instant.
pub(super) fn has_spare_descriptors() -> bool {
    let mut limit = ::libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel fills the struct that it is passed.
    let known = unsafe { ::libc::getrlimit(::libc::RLIMIT_NOFILE, &raw mut limit) } == 0;
    let most = limit.rlim_cur;
    // A limit above the highest possible descriptor does not limit anything.
    if !known || i32::try_from(most).is_err() {
        return true;
    }
    let reserved = RESERVED.min(u64::div_ceil(most, SHARE));
    // SAFETY: F_GETFD takes no pointer, and changes nothing of a descriptor that is open.
    let is_free = |fd: u64| unsafe { ::libc::fcntl(fd as ::libc::c_int, ::libc::F_GETFD) } < 0;
    OPEN.load(Ordering::Relaxed) < most / SHARE && (most.saturating_sub(reserved)..most).all(is_free)
}

/// Returns whether a thread was refused a counter since then, as descriptors are scarce.
pub(crate) fn lacked_descriptors_since(monotonic_ns: u64) -> bool {
    REFUSED_NS.load(Ordering::Relaxed) > monotonic_ns
}

/// Restarts the interval of the counter of `state`, if it has one.
///
/// # Signal safety
/// A system call that does not block. It runs on the thread that the counter is about, so no other thread
/// closes the counter meanwhile.
pub(crate) fn restart_period(state: &ThreadState, interval_ns: u64) {
    if let Some(fd) = fd_of(state) {
        state.kernel_time.restart(0);
        let _ = perf_counter::set_period(fd, interval_ns);
    }
}

/// Checks whether the kernel allows counters. The kernel is asked once; a refusal for lack of a file
/// descriptor does not count.
///
/// # Errors
/// Same as for [`arm`].
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

/// Returns the thread whose counter sent a signal, if it is the calling one. The kernel puts the descriptor
/// where timers have their value.
#[inline]
pub(crate) fn owner_of(info: &TimerInfo) -> Result<&'static ThreadState, NoTick> {
    let has =
        |state: &&ThreadState| state.perf.fd.load(Ordering::Relaxed) == (info.value() as i32).wrapping_add(1);
    threads::current_native().filter(has).ok_or(NoTick::Foreign)
}

/// Returns the signal of the counter of `state`, if it has one.
#[cfg(feature = "testing")]
pub(crate) fn signal_of(state: &ThreadState) -> Option<TimerInfo> {
    fd_of(state).map(TimerInfo::of_descriptor)
}

/// Returns whether `state` has a counter.
pub(crate) fn is_armed(state: &ThreadState) -> bool {
    fd_of(state).is_some()
}

/// Closes the counter of `state`, if it has one. A tick that is on its way may still arrive. A forked child
/// does this as well, with the descriptors that it has inherited: closing one there leaves the parent's open.
pub(crate) fn disarm(state: &ThreadState) {
    let fd = state.perf.fd.swap(0, Ordering::AcqRel) - 1;
    if fd < 0 {
        return;
    }
    OPEN.fetch_sub(1, Ordering::Relaxed);
    // Only the caller that swaps it out closes it.
    if perf_counter::is_ours(fd) {
        perf_counter::close(fd);
    }
}
