//! The interrupted thread, as a handler gets it.

/// The state of the interrupted thread, as the kernel hands it to a handler.
pub(crate) type Context = ::libc::ucontext_t;

/// Whether the tick interrupted a handler that runs on the alternate stack: the VM's for SIGSEGV, which moves objects back
/// during a compaction. Our own handler runs there too (SA_ONSTACK), so the interrupted stack pointer decides.
///
/// # Signal safety
/// Reads what it is given.
#[inline]
pub(crate) fn on_alternate_stack(context: &Context) -> bool {
    let stack = &context.uc_stack;
    stack_pointer(context).wrapping_sub(stack.ss_sp as usize) < stack.ss_size
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn stack_pointer(context: &Context) -> usize {
    context.uc_mcontext.gregs[::libc::REG_RSP as usize] as usize
}

#[cfg(target_arch = "aarch64")]
#[inline]
fn stack_pointer(context: &Context) -> usize {
    context.uc_mcontext.sp as usize
}
