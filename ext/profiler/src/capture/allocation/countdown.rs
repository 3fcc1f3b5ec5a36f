//! The hooks on allocations: they count down to the next sample, by objects or by bytes, and do nothing else most of
//! the time.

use ::core::sync::atomic::{AtomicI64, Ordering};

use ::profiler_core::sampling::allocation_sampler::Window;

use crate::capture::allocation::sample_object;
use crate::vm::allocations::{self, allocation_hook, AllocationHook};
use crate::vm::events::in_other_ractor;

/// Objects, or bytes, up to the next sample; not above 0 while one is taken. The hooks touch only this most of the time. The GVL
/// of the main Ractor guards it, as all else here: hooks that are called in other Ractors must leave it alone.
static LEFT: AtomicI64 = AtomicI64::new(i64::MAX);

/// The hook on allocations that counts down in the unit of `every`.
pub(super) fn hook(every: Window) -> AllocationHook {
    match every {
        Window::Objects(_) => on_object,
        Window::Bytes(_) => on_bytes,
    }
}

/// The objects, or bytes, that are left up to the next sample.
#[inline]
pub(super) fn left() -> i64 {
    LEFT.load(Ordering::Relaxed)
}

/// Sets the objects, or bytes, from here to the next sample.
#[inline]
pub(super) fn begin(left: i64) {
    LEFT.store(left, Ordering::Relaxed);
}

allocation_hook!(on_object, |trace_arg| {
    if !in_other_ractor() {
        // SAFETY: the VM calls us with this, on a thread of the main Ractor.
        unsafe { count(1, trace_arg) };
    }
});

allocation_hook!(on_bytes, |trace_arg| {
    if !in_other_ractor() {
        // SAFETY: as above.
        unsafe { count(allocations::slot_size(allocations::allocated_object(trace_arg)) as i64, trace_arg) };
    }
});

/// # Safety
/// `trace_arg` is what the hook was called with, on a thread of the main Ractor.
#[inline(always)]
unsafe fn count(number: i64, trace_arg: *mut ::core::ffi::c_void) {
    let left = left() - number;
    begin(left);
    if left <= 0 {
        // SAFETY: as promised.
        unsafe { sample_object(trace_arg) };
    }
}
