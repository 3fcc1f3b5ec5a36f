//! The part of the door that only Linux has, or has in a way of its own.

use ::core::ffi::c_int;
use ::core::option::Option::{self, None};

pub(super) mod clock;
pub(crate) mod context;
#[cfg(all(target_env = "gnu", target_arch = "x86_64"))]
pub(crate) mod got;
#[cfg(all(target_env = "gnu", target_arch = "x86_64"))]
mod libraries;
pub(crate) mod mapped_table;
pub(crate) mod own_memory;
pub(crate) mod perf_counter;
pub(crate) mod posix_timer;
pub(crate) mod process;
pub(crate) mod run_delay;
pub(crate) mod semaphore;
pub(crate) mod siginfo;
pub(super) mod signals;
pub(crate) mod snapshot;
pub(crate) mod system_call;
mod task_file;
pub(super) mod thread;
#[cfg(target_arch = "x86_64")]
pub(crate) mod tracee;

/// The reason why signals cannot be sent to a single thread, and threads have no timers. `None`, as both
/// exist here.
pub(crate) const NEEDS_LINUX: Option<&str> = None;

/// The number of bytes in a unit of `ru_maxrss`.
pub(super) const MAXRSS_BYTES: u64 = 1_024;

/// Returns the place of the calling thread's errno.
#[inline]
pub(super) fn errno_place() -> *mut c_int {
    // SAFETY: takes no argument and cannot fail.
    unsafe { ::libc::__errno_location() }
}
