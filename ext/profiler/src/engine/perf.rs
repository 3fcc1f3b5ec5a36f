//! The kernel's own counter of a thread's CPU time (`perf_event_open`, task clock). It ticks as finely as requested, and only
//! while the thread runs. The system may refuse it (containers often do), and then the [`ticker`](super::ticker) is left.
//!
//! Without privileges the system allows only counters that leave out time in the kernel (`exclude_kernel`). A tick that falls due
//! in a system call is then lost, and the time of the call counts where the thread is found next. Such counters are used only
//! if the engine is requested by name.

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use crate::engine::no_tick::NoTick;
use crate::sys::clock;
use crate::sys::native_thread;
use crate::sys::siginfo::TimerInfo;
use crate::threads::{self, ThreadState};

/// The part of `struct perf_event_attr` that every kernel knows (`PERF_ATTR_SIZE_VER0`).
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint: u32,
    config1: u64,
}

const SOFTWARE: u32 = 1;
const TASK_CLOCK: u64 = 1;
const DISABLED: u64 = 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const CLOSE_ON_EXEC: ::libc::c_ulong = 8;
const ENABLE: ::libc::c_ulong = 0x2400;
const SET_PERIOD: ::libc::c_ulong = 0x4008_2404;
const SET_SIGNAL: ::libc::c_int = 10;
const GET_SIGNAL: ::libc::c_int = 11;
const SET_OWNER: ::libc::c_int = 15;

#[repr(C)]
struct Owner {
    /// 0 is "a thread".
    kind: ::libc::c_int,
    id: ::libc::pid_t,
}

/// Has the counter of `state` tick at that interval, and creates it if there is none.
///
/// # Errors
/// The errno: EACCES, EPERM or ENOSYS where it is refused, EMFILE without a file descriptor to spare.
pub(crate) fn arm(state: &ThreadState, interval_ns: u64) -> Result<(), i32> {
    if super::is_halted() {
        return Ok(());
    }
    if let Some(fd) = fd_of(state).filter(|fd| is_ours(*fd)) {
        return set_period(fd, interval_ns);
    }
    if !has_spare_descriptors() {
        REFUSED_NS.store(clock::monotonic_ns(), Ordering::Relaxed);
        return Err(::libc::EMFILE);
    }
    let fd = open(state.native_id(), interval_ns)?;
    OPEN.fetch_add(1, Ordering::Relaxed);
    // Before the first tick, as the handler checks whose descriptor it is.
    state.perf.fd.store(fd + 1, Ordering::Release);
    let owner = Owner { kind: 0, id: state.native_id() };
    // SAFETY: the descriptor was just opened; the kernel reads what it is handed.
    let ready = unsafe {
        ::libc::fcntl(fd, ::libc::F_SETFL, ::libc::O_ASYNC | ::libc::O_NONBLOCK) == 0
            && ::libc::fcntl(fd, SET_SIGNAL, ::libc::SIGPROF) == 0
            && ::libc::fcntl(fd, SET_OWNER, &raw const owner) == 0
            && ::libc::ioctl(fd, ENABLE, 0) == 0
    };
    if ready {
        return Ok(());
    }
    let failure = super::errno();
    state.perf.fd.store(0, Ordering::Release);
    OPEN.fetch_sub(1, Ordering::Relaxed);
    // SAFETY: it was just opened.
    unsafe { ::libc::close(fd) };
    Err(failure)
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
fn has_spare_descriptors() -> bool {
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
        let _ = set_period(fd, interval_ns);
    }
}

fn set_period(fd: i32, interval_ns: u64) -> Result<(), i32> {
    // SAFETY: the kernel reads one number. If the descriptor is no longer ours, it does not know the request.
    match unsafe { ::libc::ioctl(fd, SET_PERIOD, &raw const interval_ns) } {
        0 => Ok(()),
        _ => Err(super::errno()),
    }
}

/// The part of a thread's time that the kernel's counters count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// All of a thread's time.
    All,
    /// All but the time in system calls.
    OutsideKernel,
}

/// The answer of [`probe`] before its first call.
const UNKNOWN: i32 = -1;
/// The answer where counters leave out time in the kernel.
const OUTSIDE_KERNEL: i32 = -2;

/// The counters that the kernel allows, if any. It is asked once; a refusal for want of a file descriptor does not count.
///
/// # Errors
/// As for [`arm`].
pub(crate) fn probe() -> Result<Counted, i32> {
    static ANSWER: AtomicI32 = AtomicI32::new(UNKNOWN);
    match ANSWER.load(Ordering::Relaxed) {
        0 => return Ok(Counted::All),
        OUTSIDE_KERNEL => return Ok(Counted::OutsideKernel),
        known @ 1.. => return Err(known),
        _ => {}
    }
    let try_open = |counted| {
        let fd = open_counter(native_thread::native_id(), 1_000_000_000, counted)?;
        // SAFETY: it was just opened.
        unsafe { ::libc::close(fd) };
        Ok(counted)
    };
    let answer = try_open(Counted::All).or_else(|_| try_open(Counted::OutsideKernel));
    let known = match answer {
        Ok(Counted::All) => 0,
        Ok(Counted::OutsideKernel) => OUTSIDE_KERNEL,
        Err(::libc::EMFILE | ::libc::ENFILE | ::libc::ENOMEM) => UNKNOWN,
        Err(errno) => errno,
    };
    ANSWER.store(known, Ordering::Relaxed);
    answer
}

fn open(native_id: i32, interval_ns: u64) -> Result<i32, i32> {
    open_counter(native_id, interval_ns, probe()?)
}

fn open_counter(native_id: i32, interval_ns: u64, counted: Counted) -> Result<i32, i32> {
    let excluded = if counted == Counted::All { 0 } else { EXCLUDE_KERNEL };
    let attributes = Attributes {
        kind: SOFTWARE,
        size: size_of::<Attributes>() as u32,
        config: TASK_CLOCK,
        sample_period: interval_ns,
        flags: DISABLED | EXCLUDE_HYPERVISOR | excluded,
        wakeup_events: 1,
        ..Attributes::default()
    };
    // SAFETY: the kernel reads as much as `size` says; -1 is any CPU and no group.
    let fd = unsafe {
        let attributes_ptr = &raw const attributes;
        ::libc::syscall(::libc::SYS_perf_event_open, attributes_ptr, native_id, -1, -1, CLOSE_ON_EXEC)
    };
    match i32::try_from(fd) {
        Ok(fd) if fd >= 0 => Ok(fd),
        _ => Err(super::errno()),
    }
}

fn fd_of(state: &ThreadState) -> Option<i32> {
    Some(state.perf.fd.load(Ordering::Acquire) - 1).filter(|fd| *fd >= 0)
}

/// Whether a descriptor is still that of our counter. A program that closes all descriptors that it did not open, as daemons
/// do, closes ours as well. The number may be that of one of its own files by now.
fn is_ours(fd: i32) -> bool {
    // SAFETY: asks about a number.
    unsafe { ::libc::fcntl(fd, GET_SIGNAL) == ::libc::SIGPROF }
}

/// The thread whose counter sent a signal, if it is the calling one. The kernel puts the descriptor where timers have their value.
#[inline]
pub(crate) fn owner_of(info: &TimerInfo) -> Result<&'static ThreadState, NoTick> {
    let has =
        |state: &&ThreadState| state.perf.fd.load(Ordering::Relaxed) == (info.value as i32).wrapping_add(1);
    threads::current_native().filter(has).ok_or(NoTick::Foreign)
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
    if is_ours(fd) {
        // SAFETY: it is ours, and whoever swaps it out is the only one to close it.
        unsafe { ::libc::close(fd) };
    }
}
