//! Signals that wait for delivery, and their senders.

use ::core::mem::zeroed;
use ::core::time::Duration;

/// Discards a pending SIGPROF, by ignoring the signal for an instant. Always returns false, as it is unknown
/// whether there was one.
///
/// Only exec calls this, when all timers have ended, so no signal that arrives meanwhile is missed.
pub(crate) fn take_pending(_signals: &::libc::sigset_t) -> bool {
    // SAFETY: all fields may be zero; the calls read and write local structs.
    unsafe {
        let (mut ignore, mut before): (::libc::sigaction, ::libc::sigaction) = (zeroed(), zeroed());
        ignore.sa_sigaction = ::libc::SIG_IGN;
        ::libc::sigaction(::libc::SIGPROF, &raw const ignore, &raw mut before);
        ::libc::sigaction(::libc::SIGPROF, &raw const before, ::core::ptr::null_mut());
    }
    false
}

/// Never called, as no timer sends a signal that is waited for.
pub(crate) fn wait_for_pending(_signals: &::libc::sigset_t, _longest: Duration) -> bool {
    false
}

/// Always returns true, as the kernel does not state the sender: a key of a terminal, which sends to all
/// processes in its foreground, is the usual source of these signals.
///
/// # Signal safety
/// A no-op.
pub(crate) fn is_from_kernel(_info: &::libc::siginfo_t) -> bool {
    true
}
