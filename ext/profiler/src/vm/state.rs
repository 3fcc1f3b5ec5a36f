//! Three questions about the present state, cheap enough for a signal handler (2 to 7 ns each).

use core::ffi::c_int;

extern "C" {
    // Exported by every libruby, but in no installed header.
    fn ruby_thread_has_gvl_p() -> c_int;
    // The path of the calling thread's uppermost Ruby frame; null without one. Exported by every libruby.
    #[cfg(ruby_gte_3_2)]
    fn rb_sourcefile() -> *const core::ffi::c_char;
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

/// The offset, from its native thread's own address, at which a thread keeps the VM's pointer to what it executes. 0 is
/// unknown.
#[cfg(not(ruby_gte_3_2))]
static EXECUTION: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);

/// Finds that offset for [`has_stack`]. Asks on the first thread, and on the first that starts: an offset that is the same on
/// both is the same everywhere.
#[cfg(not(ruby_gte_3_2))]
pub(crate) fn find_stack() {
    use core::sync::atomic::{AtomicBool, Ordering};
    static CONFIRMED: AtomicBool = AtomicBool::new(false);
    if CONFIRMED.load(Ordering::Relaxed) {
        return;
    }
    // SAFETY: asks the dynamic linker, which for a thread-local variable answers with that of this thread.
    let (found, me) = unsafe {
        let name = c"ruby_current_ec".as_ptr();
        (libc::dlsym(libc::RTLD_DEFAULT, name) as usize, libc::pthread_self() as usize)
    };
    let place = if found == 0 { 0 } else { found.wrapping_sub(me) };
    match EXECUTION.compare_exchange(0, place, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => return,
        Err(known) if known == place => {}
        // The library was loaded late, so its variables lie anywhere.
        Err(_) => EXECUTION.store(usize::MAX, Ordering::Relaxed),
    }
    CONFIRMED.store(true, Ordering::Relaxed);
}

/// Whether the thread has a stack. A thread that ends loses it word by word, and a walk in between crashes. Ruby 3.1 does not
/// always report before that a thread ends.
///
/// # Signal safety
/// Four reads. Only after [`on_ruby_thread`] said yes.
#[cfg(not(ruby_gte_3_2))]
#[inline]
pub(crate) fn has_stack() -> bool {
    let place = EXECUTION.load(core::sync::atomic::Ordering::Relaxed);
    if place == 0 || place == usize::MAX {
        return true;
    }
    // SAFETY: the linker said that this thread's variable lies there. It points to a struct of the VM that begins with
    // the stack, its size and the frame that runs, in every Ruby 3.1.
    unsafe {
        let me = libc::pthread_self() as usize;
        let execution = *(me.wrapping_add(place) as *const *const [usize; 3]);
        !execution.is_null() && (*execution).iter().all(|word| *word != 0)
    }
}

/// From Ruby 3.2 on every thread that ends says so.
#[cfg(ruby_gte_3_2)]
pub(crate) fn find_stack() {}

/// From Ruby 3.2 on every thread that ends says so.
#[cfg(ruby_gte_3_2)]
#[inline]
pub(crate) fn has_stack() -> bool {
    true
}

/// Whether the calling thread has a frame of Ruby code. A thread that begins or ends may have no stack at all, which a walk
/// in Ruby 3.2 and 3.3 does not bear; one of C code alone has none either.
///
/// # Signal safety
/// Reads the control frames, as a walk does, and no more than the path of one. Not while garbage is collected.
#[cfg(ruby_gte_3_2)]
#[inline]
pub(crate) fn has_ruby_frame() -> bool {
    // SAFETY: takes nothing and only reads; without a stack it ends at once, as the end of the stack is not above the frame.
    unsafe { !rb_sourcefile().is_null() }
}

/// Whether the calling thread has a frame: [`has_stack`] was asked before.
#[cfg(not(ruby_gte_3_2))]
#[inline]
pub(crate) fn has_ruby_frame() -> bool {
    true
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
