//! Detects hooks that the VM has lost: it no longer calls them, though they are still in its list.
//!
//! Before Ruby 4.0, a VM that frees a Ractor takes that Ractor's hooks, usually none, for all hooks that
//! exist. Hooks on allocation and on garbage collection are then not called until any hook is added or
//! removed. So each marking checks whether they are still called.
//!
//! Objects up to the next garbage collection are lost in that case, and a note in the header says so. Exact
//! counts of objects compare the number of losses before and after, and raise if it has changed.

use ::core::ffi::c_void;
use ::core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::capture::allocation;
use crate::shared::CAPTURE;
use crate::vm::jobs::Job;
use crate::vm::{self};

/// The job that re-enables all hooks of the main Ractor.
pub(crate) static RENEW: Job = Job::new(renew);

/// True if the hook on garbage collection was called since the last marking.
static GC_REPORTED: AtomicBool = AtomicBool::new(false);

/// True if [`RENEW`] ran where it has no effect: on a thread of another Ractor.
static OWED: AtomicBool = AtomicBool::new(false);

/// True while [`RENEW`] is running. The job allocates, and a collection within it must not request it again:
/// if each allocation collects (`GC.stress`), the VM would run only that job for ever.
static RENEWING: AtomicBool = AtomicBool::new(false);

/// The number of times that hooks on objects were certainly lost.
static LOSSES: AtomicU64 = AtomicU64::new(0);

/// Returns the number of losses of hooks on objects that were noticed. The caller holds the GVL.
pub(crate) fn losses() -> u64 {
    LOSSES.load(Ordering::Relaxed)
}

/// Notes that the hook on garbage collection was called.
#[inline]
pub(super) fn note_gc() {
    GC_REPORTED.store(true, Ordering::Relaxed);
}

/// Requests [`RENEW`] if a hook is installed but was not called for events since the last marking. Objects of
/// other Ractors are not reported either; the request is then useless but harmless.
///
/// *Runs on:* the thread that collects, in the mark function.
pub(crate) fn check() {
    if vm::events::GLOBAL_HOOKS {
        return; // these hooks are never lost, and the VM counts the objects of all Ractors
    }
    let gc_is_silent =
        !GC_REPORTED.swap(false, Ordering::Relaxed) && CAPTURE.gc_hooked.load(Ordering::Relaxed);
    let is_lost = allocation::is_silent() || gc_is_silent || OWED.load(Ordering::Relaxed);
    if is_lost && !RENEWING.load(Ordering::Relaxed) {
        // SAFETY: the job was registered before the mark function, and the VM is alive, as it is marking.
        unsafe { RENEW.trigger() };
    }
}

/// Re-enables the hooks, if it runs on the main Ractor.
///
/// *Runs on:* a Ruby thread, where it checks its interrupts. *GVL:* held. *Never:* raises.
unsafe extern "C" fn renew(_data: *mut c_void) {
    // The VM records which events the hooks of the calling Ractor want.
    let on_main = vm::process::on_main_ractor();
    OWED.store(!on_main, Ordering::Relaxed);
    if on_main {
        RENEWING.store(true, Ordering::Relaxed);
        // SAFETY: the GVL is held, and jobs do not run inside a hook.
        unsafe {
            if !allocation::sees(|| vm::allocations::allocate()) {
                LOSSES.fetch_add(1, Ordering::Relaxed);
            }
            vm::allocations::renew_hooks();
        }
        RENEWING.store(false, Ordering::Relaxed);
    }
}
