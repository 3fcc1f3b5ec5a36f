//! Clocks of threads, and the kernel's own.

use ::core::prelude::rust_2021::*;

use super::task_file;
use crate::sys::clock::{read, timespec};

/// Returns the CPU clock of another thread of this process in nanoseconds; `None` if the thread has ended.
pub(crate) fn cpu_ns_of(native_id: i32) -> Option<u64> {
    read(cpu_clock_of(native_id))
}

/// Returns the kernel's id of a thread's CPU clock: the thread's id, inverted, above three bits that mean
/// "one thread" (4) and "as the scheduler counts" (2).
pub(super) fn cpu_clock_of(native_id: i32) -> ::libc::clockid_t {
    (!native_id << 3) | 6
}

/// Sleeps until the monotonic clock reaches `monotonic_ns`, or a signal arrives.
pub(crate) fn sleep_until(monotonic_ns: u64) {
    let then = timespec(monotonic_ns);
    // SAFETY: the call reads a local struct, and writes none, as an absolute time has no remainder.
    unsafe {
        ::libc::clock_nanosleep(
            ::libc::CLOCK_MONOTONIC,
            ::libc::TIMER_ABSTIME,
            &raw const then,
            ::core::ptr::null_mut(),
        )
    };
}

/// Returns how often the calling thread has given up its CPU voluntarily, to wait.
///
/// # Signal safety
/// One system call.
#[inline]
pub(crate) fn sleeps() -> u64 {
    // SAFETY: all zeros are a valid value, and it is ours to write.
    unsafe {
        let mut usage: ::libc::rusage = ::core::mem::zeroed();
        ::libc::getrusage(::libc::RUSAGE_THREAD, &raw mut usage);
        usage.ru_nvcsw as u64
    }
}

/// Returns the period at which the kernel checks its timers, in nanoseconds. The coarse clock advances once
/// per tick, so its resolution is that period.
pub(crate) fn kernel_tick_ns() -> u64 {
    let mut time = ::libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is ours to write.
    let failed = unsafe { ::libc::clock_getres(::libc::CLOCK_MONOTONIC_COARSE, &mut time) } != 0;
    if failed {
        return 0;
    }
    time.tv_nsec as u64
}

/// Returns whether a thread of this process waits according to the kernel, with or without the GVL. Not for
/// handlers.
pub(crate) fn is_asleep(native_id: i32) -> bool {
    /// The number of bytes that are read: the name in the file, in parentheses, has 15 bytes at most, and the
    /// state follows it.
    const ENOUGH: usize = 64;
    let mut text = [0_u8; ENOUGH];
    let text = task_file::read(native_id, c"stat", &mut text).unwrap_or(&[]);
    let name_ends = text.iter().rposition(|byte| *byte == b')');
    let state = name_ends.and_then(|at| text.get(at + 2));
    state == Some(&b'S') || state == Some(&b'D')
}
