//! Signals that wait for delivery, and their senders.

use ::core::ptr::null_mut;

use super::siginfo::FROM_KERNEL;

/// Takes one of these signals that is pending for the calling thread or for the process. True if there was one.
///
/// # Signal safety
/// A system call that waits for nobody.
pub(crate) fn take_pending(signals: &::libc::sigset_t) -> bool {
    let no_time = ::libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel reads the set and the time.
    unsafe { ::libc::sigtimedwait(signals, null_mut(), &raw const no_time) > 0 }
}

/// Whether the kernel itself sent a signal, as for the key of a terminal.
///
/// # Signal safety
/// A read.
pub(crate) fn is_from_kernel(info: &::libc::siginfo_t) -> bool {
    info.si_code == FROM_KERNEL
}
