//! The holder of the GVL, which a wait for it is blamed on: the last one before the wait ended.

use ::core::prelude::rust_2021::*;
use ::core::ptr::{from_ref, null_mut};
use ::core::sync::atomic::{AtomicPtr, AtomicU32, Ordering::Relaxed};

use ::profiler_core::ids::{LabelSetId, ThreadId};
use ::profiler_core::pipeline::hub::Hub;
use ::profiler_core::record::counters::count;
use ::profiler_core::record::{Header, Kind};

use crate::capture::walk::Scratch;
use crate::threads::ThreadState;

/// The last thread that is known to have got the GVL. Written by the thread that has it.
static STATE: AtomicPtr<ThreadState> = AtomicPtr::new(null_mut());
/// The id of that thread, as states are used again.
static ID: AtomicU32 = AtomicU32::new(0);

/// The thread that had the GVL before.
#[derive(Clone, Copy)]
pub(crate) struct Holder {
    state: &'static ThreadState,
    id: ThreadId,
}

/// Notes that `state` has the GVL from now on, and gives the holder before, if that is known.
///
/// *Runs on:* the thread of `state`, with the GVL.
pub(crate) fn set_holder(state: &'static ThreadState) -> Option<Holder> {
    // The thread that has the GVL is alone here, so no exchange needs to be atomic.
    let (id, before) = (ThreadId(ID.load(Relaxed)), STATE.load(Relaxed));
    ID.store(state.id().0, Relaxed);
    STATE.store(from_ref(state).cast_mut(), Relaxed);
    // SAFETY: it is null or came from a `&'static ThreadState`.
    unsafe { before.as_ref() }.map(|state| Holder { state, id })
}

/// Notes that a thread of which nothing is known has the GVL, or will have.
pub(crate) fn clear_holder() {
    STATE.store(null_mut(), Relaxed);
}

impl Holder {
    /// Takes a record of what the holder did while the thread of `header`, which has the GVL now, waited for it.
    ///
    /// # Safety
    /// The caller has the GVL.
    pub(crate) unsafe fn record(self, hub: &Hub, header: &Header) {
        let Self { state, id } = self;
        let Some(scratch) = Scratch::take() else { return count(&hub.counters.dropped_busy) };
        let alive = state.is_live() && state.id() == id;
        if id == header.thread || !alive {
            // No other thread had it; or the holder is no more, and neither are its stack and its labels.
            let kind = Kind::Blame { holder: id, labels: LabelSetId::NONE };
            scratch.record_empty(hub, kind, header);
            return;
        }
        let kind = Kind::Blame { holder: id, labels: LabelSetId(state.labels.load(Relaxed)) };
        // SAFETY: a thread without the GVL changes nothing of its stack; the Thread of a live state is alive, and the VM finds
        // no frame where it has just ended.
        unsafe { scratch.record_of(hub, state.object(), kind, header) };
    }
}
