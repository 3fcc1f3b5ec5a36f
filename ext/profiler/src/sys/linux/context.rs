//! The interrupted thread, as a handler receives it.

/// The state of the interrupted thread, as the kernel passes it to a handler.
pub(crate) type Context = ::libc::ucontext_t;

/// Returns whether the tick interrupted a handler that runs on the alternate stack: the VM's for SIGSEGV,
/// which moves objects back during a compaction. Our own handler runs there too (SA_ONSTACK), so the
/// interrupted stack pointer decides.
///
/// # Signal safety
/// Reads its argument.
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

/// Returns whether the thread stands behind the instruction of a system call, which means that it is leaving
/// the kernel. False if that is unknown.
///
/// # Signal safety
/// Reads the instruction before the one that the thread is about to run.
#[inline]
pub(crate) fn is_behind_system_call(context: &Context) -> bool {
    const INSTRUCTION: &[u8] =
        if cfg!(target_arch = "x86_64") { &[0x0f, 0x05] } else { &0xd400_0001_u32.to_le_bytes() };
    /// The smallest size of a page.
    const PAGE: usize = 4096;
    let at = instruction_pointer(context);
    if at < PAGE || at % PAGE < INSTRUCTION.len() {
        return false; // fabricated by a spec, or in another page, which may not be readable
    }
    // SAFETY: the bytes before the next instruction are readable, as they are in the same page.
    let before =
        unsafe { ::core::slice::from_raw_parts((at - INSTRUCTION.len()) as *const u8, INSTRUCTION.len()) };
    before == INSTRUCTION
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn instruction_pointer(context: &Context) -> usize {
    context.uc_mcontext.gregs[::libc::REG_RIP as usize] as usize
}

#[cfg(target_arch = "aarch64")]
#[inline]
fn instruction_pointer(context: &Context) -> usize {
    context.uc_mcontext.pc as usize
}
