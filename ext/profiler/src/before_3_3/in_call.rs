//! The check whether a signal has found a thread in a system call, by the interrupted instruction.

use crate::sys::context::Context;

/// EINTR, as system calls return it.
#[cfg(target_os = "linux")]
const INTERRUPTED: u64 = (-(::libc::EINTR as i64)) as u64;

/// The smallest size of a page.
#[cfg(target_os = "linux")]
const PAGE: usize = 4096;

/// Returns whether a signal has found the thread in a system call that waits. Such a call has ended with
/// EINTR, or is about to be repeated: the thread stands just behind the instruction, or just before it.
///
/// # Signal safety
/// Reads the instructions that the thread is about to run, or has just run.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[inline]
pub(super) fn in_call(context: &Context) -> bool {
    const SYSCALL: [u8; 2] = [0x0f, 0x05];
    let registers = &context.uc_mcontext.gregs;
    let at = registers[::libc::REG_RIP as usize] as usize;
    if at < PAGE {
        return false; // a spec that fabricates ticks
    }
    // SAFETY: the next instruction is readable; one that begins like this has a second byte. The bytes before
    // it are read only if they are in the same page.
    unsafe {
        let byte = |at: usize| *(at as *const u8);
        let again = byte(at) == SYSCALL[0] && byte(at + 1) == SYSCALL[1];
        let ended = registers[::libc::REG_RAX as usize] as u64 == INTERRUPTED && at % PAGE >= 2;
        again || ended && byte(at - 2) == SYSCALL[0] && byte(at - 1) == SYSCALL[1]
    }
}

/// Returns whether a signal has found the thread in a system call that waits, as on x86-64.
#[cfg(all(target_os = "linux", target_arch = "aarch64"))]
#[inline]
pub(super) fn in_call(context: &Context) -> bool {
    const SYSCALL: u32 = 0xd400_0001;
    let registers = &context.uc_mcontext;
    let at = registers.pc as usize;
    if at < PAGE {
        return false; // a spec that fabricates ticks
    }
    // SAFETY: the next instruction is readable. The word before it is read only if it is in the same page.
    unsafe {
        let word = |at: usize| *(at as *const u32);
        let ended = registers.regs[0] == INTERRUPTED && at % PAGE >= 4;
        word(at) == SYSCALL || ended && word(at - 4) == SYSCALL
    }
}

/// Always false: no Ruby that needs this is supported on another system.
#[cfg(not(target_os = "linux"))]
#[inline]
pub(super) fn in_call(_context: &Context) -> bool {
    false
}
