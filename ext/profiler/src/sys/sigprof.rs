//! The handler of SIGPROF: none, ours, or that of other code.
//!
//! A process has one handler of SIGPROF and one process timer, and each can have one owner. A session refuses
//! to start if SIGPROF already has a handler, and with the engine `setitimer` also if the timer of
//! the process is already armed. A second copy of the extension refuses to load.
//!
//! The app's `trap("PROF")` is noticed before it happens (`lib/profiler/process/interop.rb`). The collector
//! notices a handler that was installed without Ruby after one of its rounds. In both cases all sessions are
//! settled and paused for good, with a note in the header. They keep what they have recorded, and `resume`
//! raises.

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicUsize, Ordering};
use ::core::time::Duration;

use super::system::signals;

/// A handler as SA_SIGINFO calls it.
pub(crate) type Handler =
    unsafe extern "C" fn(::core::ffi::c_int, *mut ::libc::siginfo_t, *mut ::core::ffi::c_void);

/// The owner of the handler in the process's table of signal handlers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignalOwner {
    /// The default action, or the signal is ignored.
    Nobody,
    /// The profiler's handler.
    Us,
    /// Another profiler, or a `trap` of the app.
    Foreign,
}

/// The handler that the system reports after we installed ours; 0 before. It is not always ours: an
/// interposed library (such as a sanitizer) installs its own, which calls ours.
static INSTALLED: AtomicUsize = AtomicUsize::new(0);

/// Returns the present owner of SIGPROF.
pub(crate) fn owner() -> SignalOwner {
    match current() {
        ::libc::SIG_DFL | ::libc::SIG_IGN => SignalOwner::Nobody,
        handler if handler == INSTALLED.load(Ordering::Relaxed) => SignalOwner::Us,
        _ => SignalOwner::Foreign,
    }
}

fn current() -> usize {
    // SAFETY: all fields may be zero; the call only writes `current`.
    unsafe {
        let mut current: ::libc::sigaction = ::core::mem::zeroed();
        ::libc::sigaction(::libc::SIGPROF, ::core::ptr::null(), &mut current);
        current.sa_sigaction
    }
}

/// Installs `handler` as ours. It stays installed: without a session it counts a late signal and returns,
/// whereas the default action would end the process.
///
/// SA_ONSTACK runs it on the alternate stack that Ruby allocates for its threads. Otherwise, near the end of
/// a machine stack, the kernel would find no space for the signal and kill the process, or the handler would
/// run into the guard page. SA_RESTART spares the app every EINTR that can be avoided.
pub(crate) fn install(handler: Handler) {
    // SAFETY: all fields may be zero; SA_SIGINFO requires a handler of this type.
    unsafe {
        let mut ours: ::libc::sigaction = ::core::mem::zeroed();
        ours.sa_sigaction = handler as *const () as usize;
        ours.sa_flags = ::libc::SA_SIGINFO | ::libc::SA_RESTART | ::libc::SA_ONSTACK;
        ::libc::sigemptyset(&mut ours.sa_mask);
        ::libc::sigaction(::libc::SIGPROF, &ours, ::core::ptr::null_mut());
    }
    INSTALLED.store(current(), Ordering::Relaxed);
}

/// Blocks SIGPROF on the calling native thread.
pub(crate) fn block_here() {
    change_mask(::libc::SIG_BLOCK);
}

/// Unblocks SIGPROF on the calling native thread.
pub(crate) fn unblock_here() {
    change_mask(::libc::SIG_UNBLOCK);
}

fn change_mask(how: ::core::ffi::c_int) {
    // SAFETY: the set is ours.
    unsafe { ::libc::pthread_sigmask(how, &only_sigprof(), ::core::ptr::null_mut()) };
}

/// Takes a SIGPROF that is pending for the calling thread or for the process, as one can be in a handler or
/// while the signal is blocked. Returns true if there was one.
///
/// # Signal safety
/// System calls that do not block.
pub(crate) fn take_pending() -> bool {
    signals::take_pending(&only_sigprof())
}

/// Waits until a SIGPROF is pending for the calling thread, which blocks it, and takes that. Returns false
/// after `longest`.
pub(crate) fn wait_for_pending(longest: Duration) -> bool {
    signals::wait_for_pending(&only_sigprof(), longest)
}

fn only_sigprof() -> ::libc::sigset_t {
    // SAFETY: a set of signals is plain words, and these calls fill it.
    unsafe {
        let mut signals: ::libc::sigset_t = ::core::mem::zeroed();
        ::libc::sigemptyset(&raw mut signals);
        ::libc::sigaddset(&raw mut signals, ::libc::SIGPROF);
        signals
    }
}

/// Runs `start`, which creates a native thread, with all signals blocked, so that the thread receives no
/// signal of the process. Ruby's own threads handle these, and SIGPROF would find no Ruby on the new thread.
pub(crate) fn without_signals<T>(start: impl FnOnce() -> T) -> T {
    // SAFETY: the masks are ours; a thread inherits the mask of its creator.
    unsafe {
        let mut all: ::libc::sigset_t = ::core::mem::zeroed();
        let mut before: ::libc::sigset_t = ::core::mem::zeroed();
        ::libc::sigfillset(&mut all);
        ::libc::pthread_sigmask(::libc::SIG_SETMASK, &all, &mut before);
        let result = start();
        ::libc::pthread_sigmask(::libc::SIG_SETMASK, &before, ::core::ptr::null_mut());
        result
    }
}
