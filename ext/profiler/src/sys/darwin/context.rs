//! The interrupted thread, as a handler receives it.

use ::core::ffi::c_int;

/// The beginning of the struct that the kernel passes to a handler (`ucontext_t`).
#[repr(C)]
pub(crate) struct Context {
    /// Whether the thread was on its alternate stack when the signal arrived.
    on_stack: c_int,
}

/// Returns whether the tick interrupted a handler that runs on the alternate stack: the VM's for SIGSEGV,
/// which moves objects back during a compaction. The kernel states this itself. The stack that it describes
/// is that of our handler.
///
/// # Signal safety
/// One read.
#[inline]
pub(crate) fn on_alternate_stack(context: &Context) -> bool {
    context.on_stack != 0
}

/// Never called, as there are no counters beside timers.
pub(crate) fn is_behind_system_call(_context: &Context) -> bool {
    false
}
