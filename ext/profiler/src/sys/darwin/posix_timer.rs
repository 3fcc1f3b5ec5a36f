//! Timers on the CPU clocks of threads: there are none.

use ::core::prelude::rust_2021::*;

/// Creates none.
///
/// # Errors
/// ENOSYS.
pub(crate) fn create(_native_id: i32, _value: usize) -> Result<u64, i32> {
    Err(::libc::ENOSYS)
}

/// As there is none, never called.
///
/// # Errors
/// ENOSYS.
pub(crate) fn set(_number: u64, _first_ns: u64, _interval_ns: u64) -> Result<(), i32> {
    Err(::libc::ENOSYS)
}

/// Deletes none.
///
/// # Signal safety
/// Does nothing.
pub(crate) fn delete(_number: Option<u64>) {}
