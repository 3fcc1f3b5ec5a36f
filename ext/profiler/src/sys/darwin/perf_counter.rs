//! Counters of CPU time, which do not exist here.

use ::core::prelude::rust_2021::*;

/// Fails: there are no counters.
///
/// # Errors
/// ENOSYS.
pub(crate) fn open(_native_id: i32, _interval_ns: u64) -> Result<i32, i32> {
    Err(::libc::ENOSYS)
}

/// Never called, as there is no counter.
///
/// # Errors
/// ENOSYS.
pub(crate) fn enable(_fd: i32, _native_id: i32) -> Result<(), i32> {
    Err(::libc::ENOSYS)
}

/// Never called, as there is no counter.
///
/// # Errors
/// ENOSYS.
pub(crate) fn set_period(_fd: i32, _interval_ns: u64) -> Result<(), i32> {
    Err(::libc::ENOSYS)
}

/// Returns false: no descriptor is a counter's.
pub(crate) fn is_ours(_fd: i32) -> bool {
    false
}

/// Never called, as there is no counter.
pub(crate) fn close(_fd: i32) {}
