//! A copy of the process at one instant: not made here.

use ::core::prelude::rust_2021::*;
use ::std::io;
use ::std::marker::PhantomData;
use ::std::time::Duration;

/// A value that the original and its copy share.
#[derive(Debug)]
pub(crate) struct Page<T>(PhantomData<T>);

impl<T> Page<T> {
    /// Fails.
    ///
    /// # Errors
    /// Always.
    ///
    /// # Safety
    /// None is needed here.
    pub(crate) unsafe fn new() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Never called, as there is no page.
    pub(crate) fn as_ptr(&self) -> *mut T {
        ::std::ptr::null_mut()
    }
}

/// Returns false.
///
/// # Safety
/// None is needed here.
pub(crate) unsafe fn run(_patience: Duration, _work: impl FnOnce()) -> bool {
    false
}
