//! Signals that wait for delivery, and their senders.

use ::core::ptr::null_mut;
use ::core::time::Duration;

use super::siginfo::FROM_KERNEL;
use crate::sys::clock::timespec;

/// Takes one of these signals that is pending for the calling thread or for the process. Returns true if
/// there was one.
///
/// # Signal safety
/// A system call that does not block.
pub(crate) fn take_pending(signals: &::libc::sigset_t) -> bool {
    wait_for_pending(signals, Duration::ZERO)
}

/// Waits until one of these signals is pending, and takes it. Returns false after that time.
pub(crate) fn wait_for_pending(signals: &::libc::sigset_t, longest: Duration) -> bool {
    let longest = timespec(longest.as_nanos() as u64);
    // SAFETY: the kernel only reads the set and the time.
    unsafe { ::libc::sigtimedwait(signals, null_mut(), &raw const longest) > 0 }
}

/// Returns whether the kernel itself sent a signal, as for a key of the terminal.
///
/// # Signal safety
/// One read.
pub(crate) fn is_from_kernel(info: &::libc::siginfo_t) -> bool {
    info.si_code == FROM_KERNEL
}
