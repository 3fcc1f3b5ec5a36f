//! Clocks of threads, and the kernel's own.

use ::core::prelude::rust_2021::*;
use ::core::ptr::null_mut;

use super::thread::info_of;
use crate::sys::clock::{monotonic_ns, timespec};

/// Returns the CPU clock of another thread of this process in nanoseconds, in the kernel's resolution of
/// microseconds. Returns `None` if the thread has ended.
pub(crate) fn cpu_ns_of(native_id: i32) -> Option<u64> {
    info_of(native_id).map(|it| it.pth_user_time + it.pth_system_time)
}

/// Sleeps until the monotonic clock reaches `then_ns`, or a signal arrives.
pub(crate) fn sleep_until(then_ns: u64) {
    let left = timespec(then_ns.saturating_sub(monotonic_ns()));
    // SAFETY: the call reads a local struct, and writes none.
    unsafe { ::libc::nanosleep(&raw const left, null_mut()) };
}

/// Returns 0: the system does not count sleeps by thread. They are needed only where waits are polled, which
/// they are not here.
pub(crate) fn sleeps() -> u64 {
    0
}

/// Returns 0: unknown.
pub(crate) fn kernel_tick_ns() -> u64 {
    0
}

/// Returns false without asking: the ticker sends no signals here.
pub(crate) fn is_asleep(_native_id: i32) -> bool {
    false
}
