//! The senders of signals that a terminal's keys send too, to all processes in its foreground: INT and QUIT.

use ::core::ffi::{c_int, c_void};
use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

use super::sigprof::Handler;
use super::system::signals::is_from_kernel;

/// The numbers of signals are below this.
const SIGNALS: usize = 32;

/// The handlers that ours stand before.
static NEXT: [AtomicUsize; SIGNALS] = [const { AtomicUsize::new(0) }; SIGNALS];
/// The signals that came from processes, and were not asked about.
static FROM_PROCESSES: [AtomicU32; SIGNALS] = [const { AtomicU32::new(0) }; SIGNALS];

/// Counts from now on which of these signals come from processes. Its present handler runs after ours.
pub(crate) fn count_from_processes(signal: c_int) {
    let Some(next) = NEXT.get(signal as usize) else { return };
    // SAFETY: all fields may be zero; the calls write what is ours. A handler that gets more arguments than it takes reads its own.
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

/// Whether one of these signals came from a process. It is not counted any more then.
pub(crate) fn came_from_process(signal: c_int) -> bool {
    let Some(count) = FROM_PROCESSES.get(signal as usize) else { return false };
    count.fetch_update(Relaxed, Relaxed, |it| it.checked_sub(1)).is_ok()
}

/// *Runs on:* any thread. *GVL:* unknown. *Calls:* the handler that was there. *Never:* anything else.
unsafe extern "C" fn on_signal(signal: c_int, info: *mut ::libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel hands over the `siginfo_t` that SA_SIGINFO requests.
    let from_kernel = unsafe { !info.is_null() && is_from_kernel(&*info) };
    if let (false, Some(count)) = (from_kernel, FROM_PROCESSES.get(signal as usize)) {
        count.fetch_add(1, Relaxed);
    }
    let next = NEXT.get(signal as usize).map_or(0, |it| it.load(Relaxed));
    if next != 0 {
        // SAFETY: it was the handler of this signal.
        unsafe { ::core::mem::transmute::<usize, Handler>(next)(signal, info, context) };
    }
}
