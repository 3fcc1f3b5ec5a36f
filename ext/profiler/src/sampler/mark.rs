//! The mark function, which keeps every frame alive and in place from its publication until its name is
//! known.
//!
//! It misses none, as every handle is in the ring, in the scratch buffer of the thread that drains, or in the
//! tables of a generation, whose older handles [`keepers`] keep. With the drain lock held, ring and tables
//! are consistent and that scratch buffer is empty. No handler is between its walk and its publication
//! (`walk::wait_for_walks`), so no handle is anywhere else. Names are resolved while the generation still
//! lists the handles.
//!
//! * The root is not write-barrier protected. So it is marked again in every minor GC and at the end of an
//!   incremental marking, which is where a compaction decides what may move.
//! * A handler that starts during a GC does not walk. The mark function waits for one that started before.
//!   That takes a few microseconds, as a walk needs nothing from any other thread.
//! * Compaction is over before `rb_during_gc` is false again. According to the sources of 3.3,
//!   `gc_sweep_compact` runs from the start of moving to the update of references without a pause.

use std::ffi::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::Ordering;

use profiler_core::record::frame::Synthetic;

use crate::capture::{allocation, hook_loss, walk};
use crate::sampler::{keepers, tables};
use crate::shared::CAPTURE;
use crate::threads::{self, ThreadState};
use crate::vm;

/// Updates the table of live sampled objects, which may have moved; this is the compact function of the root.
///
/// *Runs on:* the thread that collects. *GVL:* held. *Calls:* `rb_gc_location`. *Never:* waits for another
/// thread.
pub(crate) unsafe extern "C" fn compact(_data: *mut c_void) {
    // SAFETY: the compact function is running, and freed objects are no longer in the table.
    allocation::relocate(|address| unsafe { vm::root::moved(address) });
}

/// Marks every object that the profiler holds; this is the mark function of the root.
///
/// *Runs on:* the thread that collects. *GVL:* held. *Calls:* `rb_gc_mark`. *Never:* allocates a Ruby object;
/// waits for a thread that needs the GVL.
pub(crate) unsafe extern "C" fn mark(_data: *mut c_void) {
    let Some(hub) = CAPTURE.hub() else { return };
    // ObjectSpace asks outside of a GC what objects refer to, and then "marks" with code that writes files,
    // allocates, raises and lets other threads run. That must not happen under our locks, so in that case the
    // root refers to no object.
    if !vm::state::during_gc() {
        return;
    }
    walk::wait_for_walks();
    hook_loss::check();
    // A panic must not unwind into the VM. Handles that are not marked by then cannot be saved.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        // A Thread outlives its state: the VM is asked about it, and follows the tag that it carries.
        let held = |state: &'static ThreadState| {
            let others = [&state.labels.object, &state.labels.fiber].map(|it| it.load(Ordering::Relaxed));
            others.into_iter().chain([state.object()])
        };
        for object in threads::live().flat_map(held) {
            if object != 0 {
                // SAFETY: the object was alive when it was stored, and has been marked in every marking
                // since.
                unsafe { vm::root::pin(object) };
            }
        }
        allocation::each_handle(|handle| {
            // SAFETY: the handle was read from a frame or a live object, and marked in every marking since.
            unsafe { vm::root::pin(handle) };
        });
        let helper = vm::own_threads::helper();
        if helper != 0 {
            // SAFETY: the helper was alive when it was stored, and has been marked in every marking since.
            unsafe { vm::root::pin(helper) };
        }
        keepers::mark(hub);
        tables::check(hub);
        hub.each_live_handle(|handle| {
            if Synthetic::of(handle).is_none() {
                // SAFETY: the mark function is running, and this handle was marked from the start.
                unsafe { vm::root::pin(handle) };
            }
        });
        // This comes after the ring: a handle that the tables refuse from here on is in the ring, and was
        // marked there.
        if hub.has_refused() {
            allocation::each_summed_handle(|handle| {
                // SAFETY: the handle has been marked in every marking since it was read: in the ring, then
                // here.
                unsafe { vm::root::pin(handle) };
            });
        }
    }));
}
