//! Signals that wait for delivery, and their senders.

use ::core::mem::zeroed;

/// Discards a SIGPROF that is pending. To ignore a signal for an instant does that. It never says whether there was one.
///
/// Only exec gets here, when all timers have ended, and no signal that comes meanwhile is missed.
pub(crate) fn take_pending(_signals: &::libc::sigset_t) -> bool {
    // SAFETY: all fields may be zero; the calls read and write what is ours.
    unsafe {
        let (mut ignore, mut before): (::libc::sigaction, ::libc::sigaction) = (zeroed(), zeroed());
        ignore.sa_sigaction = ::libc::SIG_IGN;
        ::libc::sigaction(::libc::SIGPROF, &raw const ignore, &raw mut before);
        ::libc::sigaction(::libc::SIGPROF, &raw const before, ::core::ptr::null_mut());
    }
    false
}

/// Taken for granted, as the kernel does not say it: a key of a terminal, which sends to all processes in its foreground, is
/// the usual source of these signals.
///
/// # Signal safety
/// Does nothing.
pub(crate) fn is_from_kernel(_info: &::libc::siginfo_t) -> bool {
    true
}
