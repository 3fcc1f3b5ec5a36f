//! The holder of the GVL, and the ticks that find it: they tell what other threads wait for the GVL for.
//!
//! When a wait is over, the holder has released the GVL and stands in the call for which it did so, mostly a
//! system call. So its stack is not taken at that time.
//!
//! * The handler notes the time of each tick that finds a thread with the GVL. RESUMED compares it with the
//!   start of the wait. If a tick fell into the wait, the thread pushes a record without frames
//!   (`Kind::GvlWait`): its clock of waiting for the GVL, and the start of the wait.
//! * A tick in a GC is recorded when the GC ends, with the time of the tick, and so is the blame.
//! * No tick can find a holder that does not exist. A wait that began after the previous holder had left is
//!   sampled by thresholds, like other waits, as `(nobody)`.
//! * All threads that may hold the GVL must tick equally often. So a thread that no session profiles
//!   (`only_blamed`) ticks as well, at the finest interval of `:wall`, but only while a thread of a session
//!   waits. These ticks are not counted as samples (`Kind::Holder`).
//! * C code that waits with the GVL gets no tick, as a signal would end its system call. The record at the
//!   end of the block takes the tick's place (`capture/block.rs`).
//! * The profiler's own threads belong to no session. Their time is attributed by the next tick.

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ::profiler_core::pipeline::hub::Hub;
use ::profiler_core::record::counters::count;
use ::profiler_core::record::{push_gvl_wait, Kind, State};
use ::profiler_core::sampling::wall_clock::Due;

use crate::capture::header::{attributed, header_at, header_now};
use crate::capture::walk::Scratch;
use crate::shared::CAPTURE;
use crate::threads::gvl_holder::Holder;
use crate::threads::ThreadState;

/// The monotonic time, in nanoseconds, of the last tick of a thread with the GVL that became a record. The
/// thread that holds the GVL writes it, so every later holder sees it.
static TICK_NS: AtomicU64 = AtomicU64::new(0);

/// Notes a tick of the calling thread, which has the GVL, once its record is published.
///
/// # Signal safety
/// One store.
#[inline]
pub(crate) fn note_tick(at_ns: u64) {
    TICK_NS.store(at_ns, Relaxed);
}

/// Returns the time of the last tick of a thread with the GVL.
#[inline]
pub(crate) fn last_tick_ns() -> u64 {
    TICK_NS.load(Relaxed)
}

/// Records which thread had the GVL while the calling thread waited for it. The time of a wait without a
/// tick is left to later records: the next tick represents it.
pub(super) fn record_blame(hub: &Hub, state: &ThreadState, due: Due, before: Option<Holder>, now_ns: u64) {
    if due.ticked {
        record_gvl_wait(hub, state, due.ready_ns, now_ns);
    } else if due.gvl && before.is_some_and(|it| it.had_left(state.id(), due.ready_ns)) {
        // No tick finds a GVL without a holder, so such a wait is sampled like other waits.
        let header = attributed(state, &header_now(state, State::Waiting, now_ns));
        match Scratch::take() {
            Some(scratch) => drop(scratch.record_empty(hub, Kind::GvlFree, &header)),
            None => count(&hub.counters.dropped_busy),
        }
    }
}

/// Records a wait for the GVL from `ready_ns` to `now_ns`, in which a tick fell, or may have
/// fallen.
pub(super) fn record_gvl_wait(hub: &Hub, state: &ThreadState, ready_ns: u64, now_ns: u64) {
    // The record moves no other clock than that of waiting for the GVL.
    let header = header_at(state, State::Waiting, now_ns, 0);
    if push_gvl_wait(&hub.ring, &header, ready_ns).is_err() {
        return count(&hub.counters.dropped_full);
    }
    CAPTURE.note_record(hub);
}
