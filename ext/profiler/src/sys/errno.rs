//! The errno of the calling thread.

use ::core::ffi::c_int;

use super::system::errno_place;

/// Returns the error of the last call that failed.
///
/// # Signal safety
/// A read of thread-local storage of libc.
#[inline]
pub(crate) fn get() -> c_int {
    // SAFETY: the place belongs to the calling thread, and lives as long as the thread.
    unsafe { *errno_place() }
}

/// Restores errno to an earlier value.
///
/// # Signal safety
/// A write to thread-local storage of libc.
#[inline]
pub(crate) fn set(errno: c_int) {
    // SAFETY: the place belongs to the calling thread, and lives as long as the thread.
    unsafe { *errno_place() = errno };
}
