//! The thread that holds the GVL, as reported by the hooks on the GVL.

use std::ptr::{from_ref, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering::Relaxed};

use profiler_core::ids::ThreadId;

use crate::threads::ThreadState;

/// The last thread known to have acquired the GVL. Written by the thread that has it.
static STATE: AtomicPtr<ThreadState> = AtomicPtr::new(null_mut());
/// The id of that thread, as states are reused.
static ID: AtomicU32 = AtomicU32::new(0);

/// The thread that had the GVL before.
#[derive(Clone, Copy)]
pub(crate) struct Holder {
    state: &'static ThreadState,
    id: ThreadId,
}

/// Notes that `state` has the GVL from now on. Returns the previous holder, if that is known.
///
/// *Runs on:* the thread of `state`, with the GVL.
pub(crate) fn set(state: &'static ThreadState) -> Option<Holder> {
    // Only the thread that has the GVL runs this, so no exchange needs to be atomic.
    let (id, before) = (ThreadId(ID.load(Relaxed)), STATE.load(Relaxed));
    ID.store(state.id().0, Relaxed);
    STATE.store(from_ref(state).cast_mut(), Relaxed);
    // SAFETY: the pointer is null or came from a `&'static ThreadState`.
    unsafe { before.as_ref() }.map(|state| Holder { state, id })
}

/// Returns the thread that has the GVL, as far as that is known, unless it has released the GVL. Any thread
/// may call this, so the answer may be outdated by the time it is read.
pub(crate) fn running() -> Option<&'static ThreadState> {
    let id = ThreadId(ID.load(Relaxed));
    // SAFETY: the pointer is null or came from a `&'static ThreadState`.
    let state = unsafe { STATE.load(Relaxed).as_ref() }?;
    (state.is_live() && state.id() == id && !state.walls.is_suspended()).then_some(state)
}

/// Notes that an unknown thread has the GVL, or will have it.
pub(crate) fn clear() {
    STATE.store(null_mut(), Relaxed);
}

impl Holder {
    /// Returns whether the holder had released the GVL before `thread` began to wait for it, at `ready_ns`,
    /// so that no thread has had it since.
    pub(crate) fn had_left(&self, thread: ThreadId, ready_ns: u64) -> bool {
        let Self { state, id } = *self;
        let suspended_ns = state.walls.suspended_since_ns();
        let is_alive = state.is_live() && state.id() == id;
        id == thread || is_alive && suspended_ns != 0 && suspended_ns <= ready_ns
    }
}
