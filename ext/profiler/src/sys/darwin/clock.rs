//! Clocks of threads, and the kernel's own.

use ::core::prelude::rust_2021::*;
use ::core::ptr::null_mut;

use super::thread::info_of;
use crate::sys::clock::{monotonic_ns, timespec};

/// CPU clock of another thread of this process, ns, as finely as the kernel says: in microseconds. Nothing when the thread is
/// gone.
pub(crate) fn cpu_ns_of(native_id: i32) -> Option<u64> {
    info_of(native_id).map(|it| it.pth_user_time + it.pth_system_time)
}

/// Sleeps until the monotonic clock is there, or a signal comes.
pub(crate) fn sleep_until(then_ns: u64) {
    let left = timespec(then_ns.saturating_sub(monotonic_ns()));
    // SAFETY: reads a struct of ours, and writes none.
    unsafe { ::libc::nanosleep(&raw const left, null_mut()) };
}

/// Not counted by thread. It is asked where waits are polled, and they are not.
pub(crate) fn sleeps() -> u64 {
    0
}

/// Not known.
pub(crate) fn kernel_tick_ns() -> u64 {
    0
}

/// Not asked: the ticker sends nothing here.
pub(crate) fn is_asleep(_native_id: i32) -> bool {
    false
}
