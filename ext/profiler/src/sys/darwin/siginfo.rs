//! The contents of a signal. Here a SIGPROF does not say where it comes from: each is taken for a tick of the process's timer.

use ::core::ffi::c_int;
use ::core::option::Option::{self, None};

/// The contents of a signal, as the kernel hands them to a handler.
#[repr(transparent)]
pub(crate) struct TimerInfo(::libc::siginfo_t);

impl TimerInfo {
    /// A signal as from the timer, for specs: it can carry no value.
    pub(crate) fn with(_value: usize) -> Self {
        // SAFETY: zeros are a value of the struct, which holds numbers and an address.
        Self(unsafe { ::core::mem::zeroed() })
    }

    /// As [`TimerInfo::with`]: no counter is there.
    #[cfg(feature = "testing")]
    pub(crate) fn of_descriptor(fd: c_int) -> Self {
        Self::with(fd as usize)
    }

    /// As [`TimerInfo::with`]. A thread is not asked by a signal here ([`NEEDS_LINUX`](super::NEEDS_LINUX)).
    pub(crate) fn queued(_number: u32, value: usize) -> Self {
        Self::with(value)
    }

    /// Sends nothing: no signal here can say that it is for one thread. Always false.
    pub(crate) fn send(&self, _native_id: c_int) -> bool {
        false
    }

    /// Nothing is sent, and so nothing is refused.
    pub(crate) fn refused() -> Option<c_int> {
        None
    }

    /// The source of the signal.
    #[inline]
    pub(crate) fn code(&self) -> c_int {
        FROM_KERNEL
    }

    /// Never: threads have no timers here.
    #[inline]
    pub(crate) fn is_of_a_timer(&self) -> bool {
        false
    }

    /// No timer of a thread has skipped ticks.
    #[inline]
    pub(crate) fn overrun(&self) -> c_int {
        0
    }

    /// It carries none.
    #[inline]
    pub(crate) fn value(&self) -> usize {
        0
    }

    /// The kernel keeps all that it says, which is nothing.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        false
    }
}

/// The sources of Linux, of which only the last one is found here.
pub(crate) const FROM_QUEUE: c_int = -1;
pub(crate) const FROM_TIMER: c_int = -2;
pub(crate) const FROM_PROCESS: c_int = 0;
pub(crate) const FROM_DESCRIPTOR: c_int = 1;
pub(crate) const FROM_KERNEL: c_int = 0x80;
