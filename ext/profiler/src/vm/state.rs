//! Questions about the present state, cheap enough for a signal handler (2 to 7 ns each).

use core::ffi::c_int;

extern "C" {
    // Exported by every libruby, but in no installed header.
    fn ruby_thread_has_gvl_p() -> c_int;
    // Returns the path of the calling thread's uppermost Ruby frame; null if it has none. Exported by every
    // libruby.
    #[cfg(ruby_gte_3_2)]
    fn rb_sourcefile() -> *const core::ffi::c_char;
}

/// Returns whether the calling native thread runs a Ruby thread. On Ruby 3.1, walking the stack of one that
/// does not crashes the process.
///
/// # Signal safety
/// A read of thread-local storage of libruby.
#[inline]
pub(crate) fn on_ruby_thread() -> bool {
    // SAFETY: takes no argument and only reads.
    unsafe { rb_sys::ruby_native_thread_p() != 0 }
}

/// The offset, from its native thread's own address, at which a thread keeps the VM's pointer to its
/// execution context. 0 means unknown.
#[cfg(not(ruby_gte_3_2))]
static EXECUTION: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);

/// Finds that offset for [`has_stack`]. It is determined on the first thread, and again on the first thread
/// that starts: an offset that is the same on both is the same everywhere.
#[cfg(not(ruby_gte_3_2))]
pub(crate) fn find_stack() {
    use core::sync::atomic::{AtomicBool, Ordering};
    static CONFIRMED: AtomicBool = AtomicBool::new(false);
    if CONFIRMED.load(Ordering::Relaxed) {
        return;
    }
    // SAFETY: asks the dynamic linker, which for a thread-local variable returns the address of this thread's
    // instance.
    let (found, me) = unsafe {
        let name = c"ruby_current_ec".as_ptr();
        (libc::dlsym(libc::RTLD_DEFAULT, name) as usize, libc::pthread_self() as usize)
    };
    let place = if found == 0 { 0 } else { found.wrapping_sub(me) };
    match EXECUTION.compare_exchange(0, place, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => return,
        Err(known) if known == place => {}
        // The library was loaded late, so its thread-local variables are not at a fixed offset.
        Err(_) => EXECUTION.store(usize::MAX, Ordering::Relaxed),
    }
    CONFIRMED.store(true, Ordering::Relaxed);
}

/// Returns whether the thread has a stack. A thread that ends loses it word by word, and a walk in between
/// crashes. Ruby 3.1 does not always report in advance that a thread ends.
///
/// # Signal safety
/// Four reads. Only after [`on_ruby_thread`] returned true.
#[cfg(not(ruby_gte_3_2))]
#[inline]
pub(crate) fn has_stack() -> bool {
    let place = EXECUTION.load(core::sync::atomic::Ordering::Relaxed);
    if place == 0 || place == usize::MAX {
        return true;
    }
    // SAFETY: according to the linker, this thread's variable is at that address. It points to a struct of
    // the VM that begins with the stack, its size and the running frame, in every Ruby 3.1.
    unsafe {
        let me = libc::pthread_self() as usize;
        let execution = *(me.wrapping_add(place) as *const *const [usize; 3]);
        !execution.is_null() && (*execution).iter().all(|word| *word != 0)
    }
}

/// A no-op: from Ruby 3.2 on every thread that ends reports it.
#[cfg(ruby_gte_3_2)]
pub(crate) fn find_stack() {}

/// Always true: from Ruby 3.2 on every thread that ends reports it.
#[cfg(ruby_gte_3_2)]
#[inline]
pub(crate) fn has_stack() -> bool {
    true
}

/// Returns whether the calling thread has a frame of Ruby code. A thread that begins or ends may have no
/// stack at all, in which case a walk in Ruby 3.2 and 3.3 crashes. A thread of only C code has no such frame
/// either.
///
/// # Signal safety
/// Reads the control frames, as a walk does, and of the code only the path of one frame. Not while garbage is
/// collected.
#[cfg(ruby_gte_3_2)]
#[inline]
pub(crate) fn has_ruby_frame() -> bool {
    // SAFETY: takes no argument and only reads; without a stack it ends at once, as the end of the stack is
    // not above the frame.
    unsafe { !rb_sourcefile().is_null() }
}

/// Always true: [`has_stack`] was asked before.
#[cfg(not(ruby_gte_3_2))]
#[inline]
pub(crate) fn has_ruby_frame() -> bool {
    true
}

/// Returns false inside a region without the GVL (IO, C code that released it). True does not prove that the
/// GVL is held: it is also returned on a thread that waits for the GVL.
///
/// # Signal safety
/// Two reads. Only after [`on_ruby_thread`] returned true.
#[inline]
pub(crate) fn not_in_blocking_region() -> bool {
    // SAFETY: takes no argument and only reads.
    unsafe { ruby_thread_has_gvl_p() != 0 }
}

/// Returns the running Thread, as a VALUE.
///
/// # Signal safety
/// Two reads. Only after [`on_ruby_thread`] returned true.
#[inline]
pub(crate) fn current_thread() -> u64 {
    // SAFETY: takes no argument and only reads.
    unsafe { rb_sys::rb_thread_current() }
}

/// Returns the running Fiber, as a VALUE: the one whose frames a walk would see.
///
/// # Signal safety
/// One read, on a thread where this was called before outside of a handler, or that has ever switched fibers.
/// On other threads the first fiber may have no object yet, and one is created.
#[inline]
pub(crate) fn current_fiber() -> u64 {
    // SAFETY: the callers run Ruby, or are a handler on a thread whose fiber has an object.
    unsafe { rb_sys::rb_fiber_current() }
}

/// Returns whether some thread is collecting garbage right now.
///
/// # Signal safety
/// One read of the VM's state. Never after the VM is gone: the handler is off by then.
#[inline]
pub(crate) fn during_gc() -> bool {
    // SAFETY: takes no argument and only reads; the VM exists while capture is on.
    unsafe { rb_sys::rb_during_gc() != 0 }
}
