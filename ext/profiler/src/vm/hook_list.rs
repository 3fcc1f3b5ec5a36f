//! The VM's list of hooks on objects and on garbage collection.
//!
//! Ruby 4.0 has one list for all Ractors. It calls these hooks with its lock held, but adds and removes them
//! without it. At that time another Ractor may be using the list: it would call a hook that was freed, or, as it
//! cleans the list, lose the one that is being added. So the list is changed while all other Ractors stand
//! still.
//!
//! A hook must not change the list. For a change the VM stops all other Ractors, and would wait for ever for
//! one that is about to collect garbage and itself waits for this Ractor.

use core::ffi::{c_int, c_void};
use core::ptr::from_mut;

use rb_sys::{rb_event_flag_t, rb_event_hook_func_t, VALUE};

extern "C" {
    // The bindings declare it only if the headers do, but every libruby exports it.
    fn rb_add_event_hook2(hook: rb_event_hook_func_t, events: rb_event_flag_t, data: VALUE, flags: c_int);
}

/// The VM's `VALUE rb_vm_lock_with_barrier(VALUE (*)(void *), void *)`, which calls a function while no other
/// Ractor runs. Available in Ruby 4.0.
type WithBarrier = unsafe extern "C" fn(unsafe extern "C" fn(*mut c_void) -> VALUE, *mut c_void) -> VALUE;

/// The flag of a hook that is called even while an exception propagates. All hooks of the profiler have it.
const SAFE: c_int = 1;
/// The flag of a hook that is called with two words: its data and the event.
pub(super) const RAW: c_int = 4;

/// A change of the list.
#[derive(Clone, Copy, Debug)]
pub(super) enum ListChange {
    /// Adds a hook for events, with these flags.
    Add(rb_event_hook_func_t, rb_event_flag_t, c_int),
    /// Removes the hook. A no-op if it is not installed.
    Remove(rb_event_hook_func_t),
}

impl ListChange {
    /// Applies the change. The VM may collect garbage meanwhile.
    ///
    /// # Safety
    /// The caller holds the GVL and is not inside such a hook. A hook that is added accepts the arguments
    /// that its flags imply, and lives as long as the process.
    pub(super) unsafe fn make(mut self) {
        // SAFETY: looks up a name in the loaded libraries.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"rb_vm_lock_with_barrier".as_ptr()) };
        if found.is_null() {
            // SAFETY: the caller holds the GVL outside of such a hook; an added hook fits its flags for good.
            return unsafe { self.apply() };
        }
        // SAFETY: the address is that of the function with this signature.
        let with_barrier = unsafe { core::mem::transmute::<*mut c_void, WithBarrier>(found) };
        // SAFETY: the caller holds the GVL outside of such a hook, and `self` lives until the call returns.
        unsafe { with_barrier(apply, from_mut(&mut self).cast()) };
    }

    /// Applies the change without stopping other Ractors.
    ///
    /// # Safety
    /// Same as for [`make`](Self::make).
    unsafe fn apply(self) {
        // SAFETY: the caller holds the GVL and is inside no such hook; an added hook lives as long as the
        // process.
        unsafe {
            match self {
                Self::Add(hook, events, flags) => rb_add_event_hook2(hook, events, 0, SAFE | flags),
                Self::Remove(hook) => drop(rb_sys::rb_remove_event_hook(hook)),
            }
        }
    }
}

unsafe extern "C" fn apply(change: *mut c_void) -> VALUE {
    // SAFETY: `make` passes the address of its `ListChange`.
    unsafe { (*change.cast::<ListChange>()).apply() };
    rb_sys::Qnil as VALUE
}
