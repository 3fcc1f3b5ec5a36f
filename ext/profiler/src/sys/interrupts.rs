//! SIGINT while a process ends. Ruby raises its Interrupt past every mask of exceptions, so the signal is
//! ignored.

use ::core::prelude::rust_2021::*;
use ::std::sync::{Mutex, PoisonError};

/// The action that will be restored, while SIGINT is ignored.
static BEFORE: Mutex<Option<::libc::sigaction>> = Mutex::new(None);

/// Ignores SIGINT from now on, or restores its previous action. A second call in a row is a no-op. Needs the
/// GVL.
pub(crate) fn hold(hold: bool) {
    let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: all fields may be zero; the calls read and write local structs, and the system had the action
    // that is restored.
    unsafe {
        match (hold, before.take()) {
            (true, None) => {
                let mut ignored: ::libc::sigaction = ::core::mem::zeroed();
                ignored.sa_sigaction = ::libc::SIG_IGN;
                let mut old: ::libc::sigaction = ::core::mem::zeroed();
                if ::libc::sigaction(::libc::SIGINT, &raw const ignored, &raw mut old) == 0 {
                    *before = Some(old);
                }
            }
            (true, kept) => *before = kept,
            (false, Some(old)) => {
                ::libc::sigaction(::libc::SIGINT, &raw const old, ::core::ptr::null_mut());
            }
            (false, None) => {}
        }
    }
}
