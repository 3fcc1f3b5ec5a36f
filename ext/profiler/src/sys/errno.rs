//! The errno of the calling thread.

use ::core::ffi::c_int;

use super::system::errno_place;

/// The error of the last call that failed.
///
/// # Signal safety
/// A read of thread-local storage of libc.
#[inline]
pub(crate) fn get() -> c_int {
    // SAFETY: the place is the calling thread's, and lives as long as that.
    unsafe { *errno_place() }
}

/// Sets it, to what it was before.
///
/// # Signal safety
/// A write to thread-local storage of libc.
#[inline]
pub(crate) fn set(errno: c_int) {
    // SAFETY: the place is the calling thread's, and lives as long as that.
    unsafe { *errno_place() = errno };
}
