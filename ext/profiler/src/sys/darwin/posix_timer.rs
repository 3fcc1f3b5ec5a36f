//! Timers that signal one thread, which do not exist here.

use ::core::prelude::rust_2021::*;

/// Fails: there are no timers.
///
/// # Errors
/// ENOSYS.
pub(crate) fn create(_native_id: i32, _value: usize) -> Result<u64, i32> {
    Err(::libc::ENOSYS)
}

/// Fails: there are no timers.
///
/// # Errors
/// ENOSYS.
pub(crate) fn create_monotonic(_native_id: i32) -> Result<u64, i32> {
    Err(::libc::ENOSYS)
}

/// Never called, as there is no timer.
///
/// # Errors
/// ENOSYS.
pub(crate) fn set(_number: u64, _first_ns: u64, _interval_ns: u64) -> Result<(), i32> {
    Err(::libc::ENOSYS)
}

/// A no-op, as there is no timer.
///
/// # Signal safety
/// A no-op.
pub(crate) fn delete(_number: Option<u64>) {}
