//! Hooks that the VM has lost: it calls them no more, though they are still in its list.
//!
//! When the VM frees a Ractor, before Ruby 4.0, it takes the hooks of that one, mostly none, for all that there are. Hooks on allocation and on
//! garbage collection are then not called until any hook is added or removed. So each marking checks whether they still are.
//!
//! Objects up to the next garbage collection are lost then, and a note in the header says so. Exact counts of objects compare the number
//! of losses before and after, and raise.

use ::core::ffi::c_void;
use ::core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::capture::allocation;
use crate::shared::CAPTURE;
use crate::vm::jobs::Job;
use crate::vm::{self};

/// Has the VM call all hooks of the main Ractor again.
pub(crate) static RENEW: Job = Job::new(renew);

/// Whether the hook on garbage collection was called since the last marking.
static GC_REPORTED: AtomicBool = AtomicBool::new(false);

/// Whether [`RENEW`] ran where it could do nothing: on a thread of another Ractor.
static OWED: AtomicBool = AtomicBool::new(false);

/// Whether [`RENEW`] is running. It allocates, and a collection within it must not request it again: where each allocation
/// collects (`GC.stress`), the VM would run nothing but that job for ever.
static RENEWING: AtomicBool = AtomicBool::new(false);

/// The number of times that hooks on objects were lost for sure.
static LOSSES: AtomicU64 = AtomicU64::new(0);

/// The number of times that hooks on objects were lost, as far as that was noticed. With the GVL.
pub(crate) fn losses() -> u64 {
    LOSSES.load(Ordering::Relaxed)
}

/// Notes that the hook on garbage collection was called.
#[inline]
pub(super) fn note_gc() {
    GC_REPORTED.store(true, Ordering::Relaxed);
}

/// Requests [`RENEW`] if a hook is there but was not called for what has happened since the last marking. Other Ractors'
/// objects are not reported either; then the request is of no use, and of no harm.
///
/// *Runs on:* the thread that collects, in the mark function.
pub(crate) fn check() {
    if vm::events::GLOBAL_HOOKS {
        return; // those stay, and the VM's count has the objects of all Ractors
    }
    let gc_is_silent =
        !GC_REPORTED.swap(false, Ordering::Relaxed) && CAPTURE.gc_hooked.load(Ordering::Relaxed);
    let is_lost = allocation::is_silent() || gc_is_silent || OWED.load(Ordering::Relaxed);
    if is_lost && !RENEWING.load(Ordering::Relaxed) {
        // SAFETY: it was registered before the mark function; the VM is there, as it marks.
        unsafe { RENEW.trigger() };
    }
}

/// *Runs on:* a Ruby thread, where it checks its interrupts. *GVL:* held. *Never:* raises.
unsafe extern "C" fn renew(_data: *mut c_void) {
    // The VM writes down the events of the calling Ractor's hooks.
    let on_main = vm::process::on_main_ractor();
    OWED.store(!on_main, Ordering::Relaxed);
    if on_main {
        RENEWING.store(true, Ordering::Relaxed);
        // SAFETY: the GVL is held, and jobs do not run in a hook.
        unsafe {
            if !allocation::sees(|| vm::allocations::allocate()) {
                LOSSES.fetch_add(1, Ordering::Relaxed);
            }
            vm::allocations::renew_hooks();
        }
        RENEWING.store(false, Ordering::Relaxed);
    }
}
