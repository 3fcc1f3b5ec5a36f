//! Counters of CPU time: there are none.

use ::core::prelude::rust_2021::*;

/// Creates none.
///
/// # Errors
/// ENOSYS.
pub(crate) fn open(_native_id: i32, _interval_ns: u64) -> Result<i32, i32> {
    Err(::libc::ENOSYS)
}

/// As there is none, never called.
///
/// # Errors
/// ENOSYS.
pub(crate) fn enable(_fd: i32, _native_id: i32) -> Result<(), i32> {
    Err(::libc::ENOSYS)
}

/// As there is none, never called.
///
/// # Errors
/// ENOSYS.
pub(crate) fn set_period(_fd: i32, _interval_ns: u64) -> Result<(), i32> {
    Err(::libc::ENOSYS)
}

/// No descriptor is that of a counter.
pub(crate) fn is_ours(_fd: i32) -> bool {
    false
}

/// As there is none, never called.
pub(crate) fn close(_fd: i32) {}
