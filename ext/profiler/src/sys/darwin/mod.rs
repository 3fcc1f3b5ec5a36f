//! The same on macOS. Experimental: it compiles, and nobody has run it.
//!
//! The timer of the process is POSIX's and is all that makes threads tick here. What needs more says in [`NEEDS_LINUX`] why it
//! is refused. The functions behind it are here so that the rest compiles, and fail.

use ::core::ffi::c_int;
use ::core::option::Option::{self, Some};

pub(super) mod clock;
pub(crate) mod context;
pub(super) mod peer;
pub(crate) mod perf_counter;
pub(crate) mod posix_timer;
pub(crate) mod process;
pub(crate) mod run_delay;
pub(crate) mod semaphore;
pub(crate) mod siginfo;
pub(super) mod signals;
pub(crate) mod system_call;
pub(super) mod thread;

/// The reason why there is no engine but the timer of the process, and nothing that asks a thread by a signal of its own.
pub(crate) const NEEDS_LINUX: Option<&str> =
    Some("it needs Linux, where threads have timers and signals of their own");

/// The bytes in a unit of `ru_maxrss`.
pub(super) const MAXRSS_BYTES: u64 = 1;

/// The place of the calling thread's errno.
#[inline]
pub(super) fn errno_place() -> *mut c_int {
    // SAFETY: takes nothing and cannot fail.
    unsafe { ::libc::__error() }
}
