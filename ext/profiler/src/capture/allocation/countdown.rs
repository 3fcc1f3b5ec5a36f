//! The hooks on allocations: they count down to the next sample, by objects or by bytes, and usually do
//! nothing else.

use ::core::sync::atomic::{AtomicI64, Ordering};

use ::profiler_core::sampling::allocation_sampler::Window;

use crate::capture::allocation::sample_object;
use crate::vm::allocations::{self, allocation_hook, AllocationHook};
use crate::vm::events::in_other_ractor;

/// Objects, or bytes, up to the next sample; not above 0 while one is taken. The hooks usually touch only
/// this. The GVL of the main Ractor guards it, like all other state here: hooks that are called in other
/// Ractors must not touch it.
static LEFT: AtomicI64 = AtomicI64::new(i64::MAX);

/// Returns the hook on allocations that counts down in the unit of `every`.
pub(super) fn hook(every: Window) -> AllocationHook {
    match every {
        Window::Objects(_) => on_object,
        Window::Bytes(_) => on_bytes,
    }
}

/// Returns the number of objects, or bytes, up to the next sample.
#[inline]
pub(super) fn left() -> i64 {
    LEFT.load(Ordering::Relaxed)
}

/// Sets the number of objects, or bytes, from here to the next sample.
#[inline]
pub(super) fn begin(left: i64) {
    LEFT.store(left, Ordering::Relaxed);
}

allocation_hook!(on_object, |trace_arg| {
    if !in_other_ractor() {
        // SAFETY: the VM calls the hook with this argument, on a thread of the main Ractor.
        unsafe { count(1, trace_arg) };
    }
});

allocation_hook!(on_bytes, |trace_arg| {
    if !in_other_ractor() {
        // SAFETY: the VM calls the hook with this argument, on a thread of the main Ractor.
        unsafe { count(allocations::slot_size(allocations::allocated_object(trace_arg)) as i64, trace_arg) };
    }
});

/// Counts down, and samples the object when the count is used up.
///
/// # Safety
/// `trace_arg` is the argument that the hook was called with, on a thread of the main Ractor.
#[inline(always)]
unsafe fn count(number: i64, trace_arg: *mut ::core::ffi::c_void) {
    let left = left() - number;
    begin(left);
    if left <= 0 {
        // SAFETY: the caller passes the argument of the hook, on a thread of the main Ractor.
        unsafe { sample_object(trace_arg) };
    }
}
