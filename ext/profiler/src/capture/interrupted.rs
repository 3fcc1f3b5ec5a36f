//! The thread that a signal has interrupted: whether it is the intended one, and whether it can be walked.

use ::core::sync::atomic::Ordering;

use crate::sys::native_thread;
use crate::threads::ThreadState;
use crate::vm;

/// Returns whether the labels in the state are those of the running fiber. For an instant they are not, when
/// the VM has switched to another fiber and our hook has not run yet.
#[inline]
pub(super) fn knows_its_fiber(state: &ThreadState) -> bool {
    // The fiber is compared only if it is known. Then the VM was already asked outside of a handler, and
    // answers with a plain read.
    let known = state.labels.fiber.load(Ordering::Relaxed);
    // The comparison is valid only on the thread for which the fiber is known: Ruby 3.1 reuses native threads
    // without a report.
    known == 0 || (vm::state::current_thread() == state.object() && known == vm::state::current_fiber())
}

/// Returns whether the state is that of the calling thread. A state that another thread registered learns its
/// identity at its first tick.
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
