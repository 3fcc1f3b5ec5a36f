//! The senders of signals that a terminal's keys also send, to all processes in its foreground: INT and QUIT.

use ::core::ffi::{c_int, c_void};
use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

use super::sigprof::Handler;
use super::system::signals::is_from_kernel;

/// The limit of signal numbers: all are below this.
const SIGNALS: usize = 32;

/// The handlers that ours precede.
static NEXT: [AtomicUsize; SIGNALS] = [const { AtomicUsize::new(0) }; SIGNALS];
/// The number of signals that came from processes and were not asked about yet.
static FROM_PROCESSES: [AtomicU32; SIGNALS] = [const { AtomicU32::new(0) }; SIGNALS];

/// Counts from now on which of these signals come from processes. The present handler runs after ours.
pub(crate) fn count_from_processes(signal: c_int) {
    let Some(next) = NEXT.get(signal as usize) else { return };
    // SAFETY: all fields may be zero; the calls write local structs. A handler that is passed more
    // arguments than it takes reads only its own.
    unsafe {
        let mut action: ::libc::sigaction = ::core::mem::zeroed();
        ::libc::sigaction(signal, ::core::ptr::null(), &mut action);
        let ours = on_signal as *const () as usize;
        if [::libc::SIG_DFL, ::libc::SIG_IGN, ours].contains(&action.sa_sigaction) {
            return;
        }
        next.store(action.sa_sigaction, Relaxed);
        action.sa_sigaction = ours;
        action.sa_flags |= ::libc::SA_SIGINFO;
        ::libc::sigaction(signal, &action, ::core::ptr::null_mut());
    }
}

/// Returns whether one of these signals came from a process, and removes it from the count.
pub(crate) fn came_from_process(signal: c_int) -> bool {
    let Some(count) = FROM_PROCESSES.get(signal as usize) else { return false };
    count.fetch_update(Relaxed, Relaxed, |it| it.checked_sub(1)).is_ok()
}

/// Counts the signal if a process sent it, and calls the previous handler.
///
/// *Runs on:* any thread. *GVL:* unknown. *Calls:* the previous handler. *Never:* anything else.
unsafe extern "C" fn on_signal(signal: c_int, info: *mut ::libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes the `siginfo_t` that SA_SIGINFO requests.
    let from_kernel = unsafe { !info.is_null() && is_from_kernel(&*info) };
    if let (false, Some(count)) = (from_kernel, FROM_PROCESSES.get(signal as usize)) {
        count.fetch_add(1, Relaxed);
    }
    let next = NEXT.get(signal as usize).map_or(0, |it| it.load(Relaxed));
    if next != 0 {
        // SAFETY: the address was the handler of this signal.
        unsafe { ::core::mem::transmute::<usize, Handler>(next)(signal, info, context) };
    }
}
