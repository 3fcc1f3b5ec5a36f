//! Clocks, and other small facts that the system knows about the calling thread.

use ::core::prelude::rust_2021::*;

pub(crate) use super::system::clock::{cpu_ns_of, is_asleep, kernel_tick_ns, sleep_until, sleeps};

/// Returns the CPU clock of the calling thread in nanoseconds. Takes about 500 ns, as the kernel has to be
/// asked.
///
/// # Signal safety
/// `clock_gettime` is on POSIX's list.
#[inline]
pub(crate) fn thread_cpu_ns() -> u64 {
    read(::libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0)
}

/// Returns the CPU clock of the process in nanoseconds. While one of its threads has a CPU timer, the clock
/// can lag by a tick of the kernel.
pub(crate) fn process_cpu_ns() -> u64 {
    read(::libc::CLOCK_PROCESS_CPUTIME_ID).unwrap_or(0)
}

/// Returns the monotonic clock in nanoseconds. Takes about 25 ns.
///
/// # Signal safety
/// `clock_gettime` is on POSIX's list.
#[inline]
pub(crate) fn monotonic_ns() -> u64 {
    read(::libc::CLOCK_MONOTONIC).unwrap_or(0)
}

/// Converts nanoseconds to a `timespec`.
pub(crate) fn timespec(ns: u64) -> ::libc::timespec {
    ::libc::timespec {
        tv_sec: (ns / 1_000_000_000) as ::libc::time_t,
        tv_nsec: (ns % 1_000_000_000) as ::libc::c_long,
    }
}

/// Returns the calendar clock in nanoseconds since 1970 UTC.
pub(crate) fn realtime_ns() -> u64 {
    read(::libc::CLOCK_REALTIME).unwrap_or(0)
}

/// Returns the time of one of the system's clocks in nanoseconds; `None` if there is no such clock.
#[inline]
pub(super) fn read(clock: ::libc::clockid_t) -> Option<u64> {
    let mut time = ::libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is ours to write.
    let failed = unsafe { ::libc::clock_gettime(clock, &mut time) } != 0;
    if failed {
        return None;
    }
    Some((time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64))
}
