//! The hook on the switch of fibers: it sets a thread's labels to those of the fiber that runs on it.
//!
//! The VM has switched before this hook runs. A tick in between would record one fiber's stack with the
//! labels of another. So the state also holds the Fiber that its labels belong to. A tick that finds another
//! one running (`rb_fiber_current`, to which the walk's frames belong) is dropped and counted, and its time
//! is carried. The state holds the labels' object as well, which on Ruby 3.1 a fiber yet to begin inherits.
//! The mark function keeps both alive and in place.
//!
//! `ruby_stack_length` distinguishes fibers as well, but records where the stack of the current one ends.
//! From a handler between two fibers, it records the address of the wrong stack, and a later GC crashes.

use std::sync::atomic::{AtomicBool, Ordering};

use magnus::{rb_sys::AsRawValue, typed_data::Obj, Error, Ruby};

use super::current::{current, publish, stored, RUNNING, USED};
use super::fiber_ids;
use super::object::{labels_of, Labels};
use super::span;
use crate::shared::CAPTURE;
use crate::threads::{self, ThreadState};
use crate::vm;
use crate::vm::events::thread_hook;
use crate::vm::fibers::{self, Local};
use crate::vm::jobs::Job;

/// Whether the hook is installed.
static HOOKED: AtomicBool = AtomicBool::new(false);

/// Installs the hook if it is needed. The VM adds it to the calling Ractor, so only the main one may do that:
/// threads of others are not profiled, and none of them could remove it again.
pub(super) fn hook() {
    let useful = RUNNING.load(Ordering::Relaxed) && USED.load(Ordering::Relaxed);
    if useful && vm::process::on_main_ractor() && !HOOKED.swap(true, Ordering::Relaxed) {
        threads::live().for_each(|state| state.labels.fiber.store(0, Ordering::Relaxed));
        CAPTURE.fibers_watched.store(true, Ordering::Relaxed);
        // SAFETY: sessions start and labels are set with the GVL held.
        unsafe { fibers::hook_switch(on_fiber_switch) };
    }
}

/// Removes the hook, on the main Ractor.
pub(super) fn unhook() {
    if vm::process::on_main_ractor() && HOOKED.swap(false, Ordering::Relaxed) {
        CAPTURE.fibers_watched.store(false, Ordering::Relaxed);
        // SAFETY: sessions stop with the GVL held, and never inside the hook.
        unsafe { fibers::unhook_switch(on_fiber_switch) };
    }
}

thread_hook!(on_fiber_switch, |_event, thread| {
    // SAFETY: a hook on fibers runs with the GVL.
    let ruby = unsafe { Ruby::get_unchecked() };
    let (Some(hub), Some(state)) = (CAPTURE.hub(), threads::current_native_cached()) else { return };
    match switched_to(&ruby, state, thread) {
        Ok(labels) => {
            publish(hub, state, fiber_ids::number_own(&ruby, labels));
            span::publish(state, thread);
            // The fiber is stored last: a tick before this finds that it does not know whose labels these
            // are.
            state.labels.fiber.store(vm::state::current_fiber(), Ordering::Relaxed);
        }
        // The next tick finds that it does not know the fiber, and requests a job that corrects this.
        // SAFETY: only references are alive in this frame, so no destructor is skipped.
        Err(arrived) => unsafe { vm::door::raise_from_hook(&arrived) },
    }
});

/// The job that corrects the labels after a switch that the hook did not see, since an exception that comes
/// with a switch bypasses it.
pub(crate) static RESYNC: Job = Job::new(resync);

unsafe extern "C" fn resync(_data: *mut std::ffi::c_void) {
    // SAFETY: a job runs with the GVL.
    let ruby = unsafe { Ruby::get_unchecked() };
    if !HOOKED.load(Ordering::Relaxed) {
        return;
    }
    if let (Some(hub), Some(state)) = (CAPTURE.hub(), threads::current_native_cached()) {
        // The VM drops an exception in a job, so Ruby is not called in a way that could deliver one.
        let thread = vm::state::current_thread();
        publish(hub, state, fiber_ids::number_own(&ruby, stored(thread)));
        span::publish(state, thread);
        state.labels.fiber.store(vm::state::current_fiber(), Ordering::Relaxed);
    }
}

/// Returns the labels of the fiber that has just begun to run on this thread.
fn switched_to(ruby: &Ruby, state: &ThreadState, thread: u64) -> Result<Option<Obj<Labels>>, Error> {
    // SAFETY: a `Ruby` proves that the GVL is held; `thread` is the calling one.
    let inherits =
        unsafe { !fibers::STORAGE && matches!(fibers::LABELS.get(thread), Local::Unset) && fibers::is_new() };
    if !inherits {
        return current(ruby);
    }
    // These are the labels of the fiber that ran before; the mark function keeps them.
    let labels = labels_of(state.labels.object.load(Ordering::Relaxed));
    // SAFETY: a `Ruby` proves that the GVL is held; the labels are alive, as the state holds them.
    unsafe { fibers::LABELS.set(thread, labels.map(|it| it.as_raw())) };
    Ok(labels)
}
