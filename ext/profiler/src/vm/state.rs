//! Three questions about the moment, cheap enough for a signal handler (2 to 7 ns each).

use core::ffi::c_int;

extern "C" {
    // Exported by every libruby, but in no installed header.
    fn ruby_thread_has_gvl_p() -> c_int;
}

/// Whether the native thread that we are on runs a Ruby thread. Ruby 3.1 dies when the stack of one
/// that does not is walked.
///
/// # Signal safety
/// A read of thread-local storage of libruby.
#[inline]
pub(crate) fn on_ruby_thread() -> bool {
    // SAFETY: takes nothing and only reads.
    unsafe { rb_sys::ruby_native_thread_p() != 0 }
}

/// False inside a region without the GVL (IO, C code that let go of it). True does not prove that
/// the GVL is held: a thread that waits for it says true as well.
///
/// # Signal safety
/// Two reads. Only after [`on_ruby_thread`] said yes.
#[inline]
pub(crate) fn not_in_blocking_region() -> bool {
    // SAFETY: takes nothing and only reads.
    unsafe { ruby_thread_has_gvl_p() != 0 }
}

/// The Thread that runs, as a VALUE.
///
/// # Signal safety
/// Two reads. Only after [`on_ruby_thread`] said yes.
#[inline]
pub(crate) fn current_thread() -> u64 {
    // SAFETY: takes nothing and only reads.
    unsafe { rb_sys::rb_thread_current() }
}

/// The Fiber that runs, as a VALUE: the one whose frames a walk would see.
///
/// # Signal safety
/// A read, on a thread where it was called before outside of a handler, or that has ever switched fibers.
/// Elsewhere the first fiber of the thread may have no object yet, and is given one.
#[inline]
pub(crate) fn current_fiber() -> u64 {
    // SAFETY: the callers run Ruby, or are a handler that keeps to the above.
    unsafe { rb_sys::rb_fiber_current() }
}

/// Whether some thread is collecting garbage right now.
///
/// # Signal safety
/// One read of the VM's state. Never after the VM is gone: the handler is off by then.
#[inline]
pub(crate) fn during_gc() -> bool {
    // SAFETY: takes nothing and only reads; the VM exists while capture is on.
    unsafe { rb_sys::rb_during_gc() != 0 }
}
