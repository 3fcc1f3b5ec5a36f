//! The interrupted thread, as a handler gets it.

use ::core::ffi::c_int;

/// The beginning of what the kernel hands to a handler (`ucontext_t`).
#[repr(C)]
pub(crate) struct Context {
    /// Whether the thread ran on its alternate stack when the signal came.
    on_stack: c_int,
}

/// Whether the tick interrupted a handler that runs on the alternate stack: the VM's for SIGSEGV, which moves objects back
/// during a compaction. The kernel says so itself. The stack that it describes is that of our handler.
///
/// # Signal safety
/// A read.
#[inline]
pub(crate) fn on_alternate_stack(context: &Context) -> bool {
    context.on_stack != 0
}

/// Never asked, as there are no counters beside timers.
pub(crate) fn is_behind_system_call(_context: &Context) -> bool {
    false
}
