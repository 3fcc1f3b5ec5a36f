//! The kernel's timers that signal one thread, by number.

use ::core::prelude::rust_2021::*;

use super::clock::cpu_clock_of;
use crate::sys::clock::timespec;
use crate::sys::errno;

/// Creates a timer on that thread's CPU clock, not armed yet. Its signals will go to that thread and carry
/// `value`.
///
/// # Errors
/// The errno: EAGAIN if the user's quota of pending signals is used up (`ulimit -i`).
pub(crate) fn create(native_id: i32, value: usize) -> Result<u64, i32> {
    create_on(cpu_clock_of(native_id), native_id, value)
}

/// Creates a timer on the monotonic clock, not armed yet. Its signals will go to that thread.
///
/// # Errors
/// Same as for [`create`].
pub(crate) fn create_monotonic(native_id: i32) -> Result<u64, i32> {
    create_on(::libc::CLOCK_MONOTONIC, native_id, 0)
}

fn create_on(clock: ::libc::clockid_t, native_id: i32, value: usize) -> Result<u64, i32> {
    // SAFETY: all fields may be zero.
    let mut event: ::libc::sigevent = unsafe { ::core::mem::zeroed() };
    event.sigev_notify = ::libc::SIGEV_THREAD_ID;
    event.sigev_signo = ::libc::SIGPROF;
    event.sigev_value.sival_ptr = ::core::ptr::without_provenance_mut(value);
    event.sigev_notify_thread_id = native_id;

    let mut timer: ::libc::timer_t = ::core::ptr::null_mut();
    // SAFETY: both are ours; with SIGEV_THREAD_ID glibc passes straight through to the kernel.
    match unsafe { ::libc::timer_create(clock, &mut event, &mut timer) } {
        0 => Ok(timer as u64),
        _ => Err(errno::get()),
    }
}

/// Arms the timer, which then fires after `first_ns`, and from then on at that interval; only once if that is
/// 0. If both are 0, disarms it.
///
/// # Errors
/// The errno.
///
/// # Signal safety
/// A system call that does not block.
pub(crate) fn set(number: u64, first_ns: u64, interval_ns: u64) -> Result<(), i32> {
    let times = ::libc::itimerspec { it_interval: timespec(interval_ns), it_value: timespec(first_ns) };
    // SAFETY: the timer is ours and exists.
    match unsafe { ::libc::timer_settime(number as ::libc::timer_t, 0, &times, ::core::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(errno::get()),
    }
}

/// Deletes the timer with this number, if there is one. The caller took the number out of a thread's state,
/// so no other code deletes it.
///
/// # Signal safety
/// A system call that does not block.
pub(crate) fn delete(number: Option<u64>) {
    if let Some(number) = number {
        // SAFETY: the timer is ours; the kernel refuses an unknown number.
        unsafe { ::libc::timer_delete(number as ::libc::timer_t) };
    }
}
