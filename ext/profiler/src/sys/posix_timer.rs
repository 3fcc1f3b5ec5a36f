//! The kernel's timers, by number.

use ::core::option::Option::{self, Some};

/// Deletes the timer of that number, if there is one. Its caller took the number out of a thread's state, so nobody
/// else deletes it.
///
/// # Signal safety
/// A system call that waits for nobody.
pub(crate) fn delete(number: Option<u64>) {
    if let Some(number) = number {
        // SAFETY: the timer is ours; the kernel refuses a number that it does not know.
        unsafe { ::libc::timer_delete(number as ::libc::timer_t) };
    }
}
