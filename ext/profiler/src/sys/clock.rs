//! Clocks, and other small things that the system knows of the calling thread.

use ::core::prelude::rust_2021::*;

pub(crate) use super::system::clock::{cpu_ns_of, is_asleep, kernel_tick_ns, sleep_until, sleeps};

/// CPU clock of the calling thread, ns. About 500 ns: the kernel has to be asked.
///
/// # Signal safety
/// `clock_gettime` is on POSIX's list.
#[inline]
pub(crate) fn thread_cpu_ns() -> u64 {
    read(::libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0)
}

/// CPU clock of the process, ns. While one of its threads has a CPU timer it can be late by a tick of the kernel.
pub(crate) fn process_cpu_ns() -> u64 {
    read(::libc::CLOCK_PROCESS_CPUTIME_ID).unwrap_or(0)
}

/// Monotonic clock, ns. About 25 ns.
///
/// # Signal safety
/// `clock_gettime` is on POSIX's list.
#[inline]
pub(crate) fn monotonic_ns() -> u64 {
    read(::libc::CLOCK_MONOTONIC).unwrap_or(0)
}

/// Nanoseconds in the system's form.
pub(crate) fn timespec(ns: u64) -> ::libc::timespec {
    ::libc::timespec {
        tv_sec: (ns / 1_000_000_000) as ::libc::time_t,
        tv_nsec: (ns % 1_000_000_000) as ::libc::c_long,
    }
}

/// Clock of the calendar, ns since 1970 UTC.
pub(crate) fn realtime_ns() -> u64 {
    read(::libc::CLOCK_REALTIME).unwrap_or(0)
}

/// The time of one of the system's clocks, ns; `None` if there is no such clock.
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
