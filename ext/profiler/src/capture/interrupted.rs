//! The thread that a signal has interrupted: whether it is the one that was meant, and whether it can be walked.

use ::core::sync::atomic::Ordering;

use crate::sys::native_thread;
use crate::threads::ThreadState;
use crate::vm;

/// Whether the labels in the state are those of the fiber that runs. They are not for an instant, when the VM has switched to
/// another fiber and our hook has not run yet.
#[inline]
pub(super) fn knows_its_fiber(state: &ThreadState) -> bool {
    // Only where it is known: so the VM has been asked before, outside of a handler, and answers with a read.
    let known = state.labels.fiber.load(Ordering::Relaxed);
    // And only on the thread of which it is known: Ruby 3.1 reuses native threads without a report.
    known == 0 || (vm::state::current_thread() == state.object() && known == vm::state::current_fiber())
}

/// Whether the state is that of the calling thread. One that was registered by another
/// thread learns its identity at its first tick.
#[inline]
pub(super) fn is_ours(state: &ThreadState) -> bool {
    if !state.is_live() {
        return false;
    }
    let me = native_thread::pthread_self();
    match state.pthread.load(Ordering::Relaxed) {
        0 if state.native_id() == native_thread::native_id() => {
            state.pthread.store(me, Ordering::Relaxed);
            true
        }
        known => known == me,
    }
}
