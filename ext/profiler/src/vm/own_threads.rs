//! Ruby threads of the profiler itself: those of a class of ours, and a short-lived helper that native code
//! starts.

use core::ffi::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};

use magnus::rb_sys::AsRawValue;
use magnus::{prelude::*, Error, RModule, Ruby};
use rb_sys::VALUE;

use crate::vm::door::quietly;
use crate::vm::modules::class_of;

/// The class of the profiler's own threads, as a VALUE; 0 before it is defined.
static CLASS: AtomicU64 = AtomicU64::new(0);

/// The Thread of the helper, as a VALUE; 0 if there is none. The mark function keeps it in place.
static HELPER: AtomicU64 = AtomicU64::new(0);

/// The work of a helper. An error that it returns was delivered only to the helper, which then ends.
pub(crate) type Work = fn(&Ruby) -> Result<(), Error>;

/// Defines the class of the profiler's own threads.
///
/// # Errors
/// The exception that Ruby raises.
pub(crate) fn define_class(ruby: &Ruby, outer: RModule) -> Result<(), Error> {
    let class = outer.define_class("BackgroundThread", ruby.class_thread())?;
    ruby.gc_register_mark_object(class); // and so never moved
    CLASS.store(class.as_raw(), Ordering::Relaxed);
    Ok(())
}

/// Returns whether the Thread `object` is one of the profiler's own. The main thread never is: in a forked
/// child it is the one that forked. Calls no method and allocates no object.
///
/// # Safety
/// The caller holds the GVL; `object` is a live Thread.
pub(crate) unsafe fn is_own(object: u64) -> bool {
    // SAFETY: the caller holds the GVL and passes a live Thread.
    let (class, main) = unsafe { (class_of(object), rb_sys::rb_thread_main()) };
    (class == CLASS.load(Ordering::Relaxed) || object == helper()) && object != main
}

/// Returns the Thread of the helper; 0 if there is none.
pub(crate) fn helper() -> u64 {
    HELPER.load(Ordering::Relaxed)
}

/// Starts a helper for `work`, unless there is one, or the system refuses a thread. This calls no method, so
/// no exception is delivered to the calling thread, which may be in a postponed job.
///
/// # Safety
/// The caller holds the GVL and is not in a GC; [`helper`] has been marked in every marking since it was set.
pub(crate) unsafe fn start_helper(work: Work) {
    let before = helper();
    // SAFETY: the caller holds the GVL, and the helper was marked. The call reports whether the thread is
    // alive; it has no effect on one that does not sleep.
    if before != 0 && unsafe { rb_sys::rb_thread_wakeup_alive(before) } != rb_sys::Qnil as VALUE {
        return;
    }
    // SAFETY: the GVL is held; no value with a destructor is alive inside. The call raises if no thread can
    // be created.
    let thread = unsafe { quietly(|| rb_sys::rb_thread_create(Some(run), work as *mut c_void)) };
    // The thread cannot run before this one releases the GVL.
    HELPER.store(thread.unwrap_or(0), Ordering::Relaxed);
}

/// Forgets the helper, in a forked child, which does not have it.
pub(crate) fn forget_helper() {
    HELPER.store(0, Ordering::Relaxed);
}

unsafe extern "C" fn run(work: *mut c_void) -> VALUE {
    // SAFETY: `start_helper` passed this function.
    let work = unsafe { core::mem::transmute::<*mut c_void, Work>(work) };
    // SAFETY: a Ruby thread begins with the GVL.
    let ruby = unsafe { Ruby::get_unchecked() };
    // A panic must not unwind into the VM.
    let _ = catch_unwind(AssertUnwindSafe(|| work(&ruby)));
    forget_helper();
    rb_sys::Qnil as VALUE
}
