//! The native thread that calls: its identities and its name.

use ::core::cell::Cell;

pub(crate) use super::system::thread::{name_of, native_id, native_name, sleep_precisely};

/// Identity of the native thread that we are on.
///
/// # Signal safety
/// A register read.
#[inline]
pub(crate) fn pthread_self() -> usize {
    // SAFETY: takes nothing and cannot fail.
    unsafe { ::libc::pthread_self() as usize }
}

/// Lets another thread run.
pub(crate) fn yield_now() {
    // SAFETY: takes nothing and cannot fail.
    unsafe { ::libc::sched_yield() };
}

::std::thread_local! {
    /// The kernel's id of the calling thread; 0 until it was asked.
    static NATIVE_ID: Cell<i32> = const { Cell::new(0) };
}

/// The kernel's id of the calling thread, asked once. Not for handlers, as what is local to a thread may be
/// allocated when it is first used.
pub(crate) fn cached_native_id() -> i32 {
    if NATIVE_ID.get() == 0 {
        NATIVE_ID.set(native_id());
    }
    NATIVE_ID.get()
}

/// Forgets the kernel's id, in a forked child: the thread that forked is another one to the kernel.
pub(crate) fn forget_native_id() {
    NATIVE_ID.set(0);
}
