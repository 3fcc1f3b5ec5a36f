//! The contents of a signal. Here a SIGPROF does not state its source: each is treated as a tick of the
//! process's timer.

use ::core::ffi::c_int;
use ::core::option::Option::{self, None};

/// The contents of a signal, as the kernel passes them to a handler.
#[repr(transparent)]
pub(crate) struct TimerInfo(::libc::siginfo_t);

impl TimerInfo {
    /// Creates a signal as from the timer, for specs: it can carry no value.
    pub(crate) fn with(_value: usize) -> Self {
        // SAFETY: zeros are a valid value of the struct, which holds numbers and an address.
        Self(unsafe { ::core::mem::zeroed() })
    }

    /// Creates a signal as [`TimerInfo::with`]: there is no counter.
    #[cfg(feature = "testing")]
    pub(crate) fn of_descriptor(fd: c_int) -> Self {
        Self::with(fd as usize)
    }

    /// Creates a signal as [`TimerInfo::with`]. No thread is asked by a signal here
    /// ([`NEEDS_LINUX`](super::NEEDS_LINUX)).
    pub(crate) fn queued(_number: u32, value: usize) -> Self {
        Self::with(value)
    }

    /// Returns false and sends no signal: a signal here cannot state that it is for one thread.
    pub(crate) fn send(&self, _native_id: c_int) -> bool {
        false
    }

    /// Returns `None`: no signal is sent, and so none is refused.
    pub(crate) fn refused() -> Option<c_int> {
        None
    }

    /// Returns the source of the signal.
    #[inline]
    pub(crate) fn code(&self) -> c_int {
        FROM_KERNEL
    }

    /// Returns false: threads have no timers here.
    #[inline]
    pub(crate) fn is_from_timer(&self) -> bool {
        false
    }

    /// Returns 0: there is no timer of a thread that could skip ticks.
    #[inline]
    pub(crate) fn overrun(&self) -> c_int {
        0
    }

    /// Returns 0: the signal carries no value.
    #[inline]
    pub(crate) fn value(&self) -> usize {
        0
    }

    /// Returns false: the signal has no contents that the kernel could lose.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        false
    }
}

/// The sources of Linux, of which only the last one occurs here.
pub(crate) const FROM_QUEUE: c_int = -1;
pub(crate) const FROM_TIMER: c_int = -2;
pub(crate) const FROM_PROCESS: c_int = 0;
pub(crate) const FROM_DESCRIPTOR: c_int = 1;
pub(crate) const FROM_KERNEL: c_int = 0x80;
