//! The VM's list of hooks on objects and on garbage collection.
//!
//! Ruby 4.0 has one list for all Ractors. It calls these hooks with its lock held, but adds and removes them without it. Meanwhile
//! another Ractor may be in the list: it would call a hook that was freed, or, as it cleans the list, lose the one that is being added.
//! So the list is changed while all other Ractors stand still.
//!
//! A hook must not change the list. The VM lets them all stand still for that, and waits for ever where another Ractor, which waits for
//! this one, is about to collect garbage.

use core::ffi::{c_int, c_void};
use core::ptr::from_mut;

use rb_sys::{rb_event_flag_t, rb_event_hook_func_t, VALUE};

extern "C" {
    // The bindings have it or not, as the headers do; every libruby has it.
    fn rb_add_event_hook2(hook: rb_event_hook_func_t, events: rb_event_flag_t, data: VALUE, flags: c_int);
}

/// The VM's `VALUE rb_vm_lock_with_barrier(VALUE (*)(void *), void *)`: calls a function while no other Ractor runs. Ruby 4.0 has it.
type WithBarrier = unsafe extern "C" fn(unsafe extern "C" fn(*mut c_void) -> VALUE, *mut c_void) -> VALUE;

/// The flag of a hook that is called also while an exception is on its way. All are.
const SAFE: c_int = 1;
/// The flag of a hook that is called with two words: its data and the event.
pub(super) const RAW: c_int = 4;

/// A change of the list.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    /// Has a hook called for events, with these flags.
    Add(rb_event_hook_func_t, rb_event_flag_t, c_int),
    /// Has it called no more. Removing what is not there does nothing.
    Remove(rb_event_hook_func_t),
}

impl Change {
    /// Makes it. The VM may collect garbage meanwhile.
    ///
    /// # Safety
    /// The caller holds the GVL and is not inside such a hook. A hook that is added takes what it is called with, and lives as long as
    /// the process.
    pub(super) unsafe fn make(mut self) {
        // SAFETY: looks a name up among those that are loaded.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"rb_vm_lock_with_barrier".as_ptr()) };
        if found.is_null() {
            // SAFETY: as promised.
            return unsafe { self.apply() };
        }
        // SAFETY: it is that function.
        let with_barrier = unsafe { core::mem::transmute::<*mut c_void, WithBarrier>(found) };
        // SAFETY: as promised; `self` is there until it returns.
        unsafe { with_barrier(apply, from_mut(&mut self).cast()) };
    }

    /// # Safety
    /// As [`make`](Self::make).
    unsafe fn apply(self) {
        // SAFETY: as promised.
        unsafe {
            match self {
                Self::Add(hook, events, flags) => rb_add_event_hook2(hook, events, 0, SAFE | flags),
                Self::Remove(hook) => drop(rb_sys::rb_remove_event_hook(hook)),
            }
        }
    }
}

unsafe extern "C" fn apply(change: *mut c_void) -> VALUE {
    // SAFETY: `make` calls this, with itself.
    unsafe { (*change.cast::<Change>()).apply() };
    rb_sys::Qnil as VALUE
}
