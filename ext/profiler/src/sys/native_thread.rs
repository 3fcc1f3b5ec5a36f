//! The calling native thread: its identities and its name.

use ::core::cell::Cell;

pub(crate) use super::system::thread::{id_of_main, name_of, native_id, native_name, sleep_precisely};

/// Returns the identity of the calling native thread.
///
/// # Signal safety
/// A register read.
#[inline]
pub(crate) fn pthread_self() -> usize {
    // SAFETY: takes no argument and cannot fail.
    unsafe { ::libc::pthread_self() as usize }
}

/// Returns an address that no other live thread has.
///
/// # Signal safety
/// A read of the register that points to the thread, not even a call.
#[inline(always)]
pub(crate) fn thread_pointer() -> usize {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    {
        let pointer: usize;
        // SAFETY: the first word at the register is its own address, by the ABI of x86-64.
        unsafe {
            ::core::arch::asm!("mov {}, fs:0", out(reg) pointer, options(pure, readonly, nostack, preserves_flags));
        }
        pointer
    }
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    pthread_self()
}

/// Lets another thread run.
pub(crate) fn yield_now() {
    // SAFETY: takes no argument and cannot fail.
    unsafe { ::libc::sched_yield() };
}

::std::thread_local! {
    /// The kernel's id of the calling thread; 0 until it was asked.
    static NATIVE_ID: Cell<i32> = const { Cell::new(0) };
}

/// Returns the kernel's id of the calling thread, which is asked once. Not for handlers, as thread-local
/// storage may be allocated at its first use.
pub(crate) fn cached_native_id() -> i32 {
    if NATIVE_ID.get() == 0 {
        NATIVE_ID.set(native_id());
    }
    NATIVE_ID.get()
}

/// Forgets the kernel's id, in a forked child: the thread that forked has another id there.
pub(crate) fn forget_native_id() {
    NATIVE_ID.set(0);
}
