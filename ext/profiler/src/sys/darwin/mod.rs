//! The system's part of the door on macOS. Experimental: it compiles, and has never been run.
//!
//! The timer of the process is POSIX's and is the only one that makes threads tick here. Features that need
//! more are refused with the reason in [`NEEDS_LINUX`]. Their functions exist so that the rest compiles, and
//! fail.

use ::core::ffi::c_int;
use ::core::option::Option::{self, Some};

pub(super) mod clock;
pub(crate) mod context;
pub(crate) mod perf_counter;
pub(crate) mod posix_timer;
pub(crate) mod process;
pub(crate) mod semaphore;
pub(crate) mod siginfo;
pub(super) mod signals;
pub(crate) mod snapshot;
pub(super) mod thread;

/// The reason why the only engine is the timer of the process, and why no thread can be asked by a signal of
/// its own.
pub(crate) const NEEDS_LINUX: Option<&str> =
    Some("it needs Linux, where threads have timers and signals of their own");

/// The number of bytes in a unit of `ru_maxrss`.
pub(super) const MAXRSS_BYTES: u64 = 1;

/// Returns the place of the calling thread's errno.
#[inline]
pub(super) fn errno_place() -> *mut c_int {
    // SAFETY: takes no argument and cannot fail.
    unsafe { ::libc::__error() }
}

/// The system call that a thread waits in, which the system does not report.
pub(crate) mod system_call {
    /// Never called, as no thread is sent a signal of its own.
    pub(crate) fn may_be_interrupted(_native_id: i32, _without_gvl: bool) -> bool {
        true
    }
}

/// The time for which a thread was ready to run and had no CPU, which the system does not report.
pub(crate) mod run_delay {
    use ::core::option::Option::{self, None};

    /// Returns `None`: there is no such file.
    pub(crate) fn open(_native_id: i32) -> Option<(i32, u64)> {
        None
    }

    /// Never called, as no file is open.
    pub(crate) fn read(_fd: i32) -> Option<u64> {
        None
    }

    /// Never called, as no file is open.
    pub(crate) fn close(_fd: i32, _identity: u64) {}
}
