//! The references of objects as the VM marks them, and the VM's own, for a copy of the process.
//!
//! The VM's functions for that allocate nothing, and neither do mark functions, which is the law of the GC.

use ::core::ffi::{c_char, c_void, CStr};
use ::core::prelude::rust_2021::*;
use ::core::ptr::from_mut;

use ::profiler_core::memory::graph::{Root, Vm};
use ::rb_sys::VALUE;

extern "C" {
    // Exported by every libruby for its own extension objspace, but in no installed header.
    fn rb_objspace_reachable_objects_from(
        object: VALUE,
        found: unsafe extern "C" fn(VALUE, *mut c_void),
        data: *mut c_void,
    );
    fn rb_objspace_reachable_objects_from_root(
        found: unsafe extern "C" fn(*const c_char, VALUE, *mut c_void),
        data: *mut c_void,
    );
}

/// The VM, in a process that has only one thread.
#[derive(Debug)]
pub(crate) struct Marks(());

impl Marks {
    /// Creates the only way to the VM from a copy of the process.
    ///
    /// # Safety
    /// The caller is in a copy of the process that was made outside of a GC by a thread that held the GVL, no garbage
    /// waits to be swept, and all objects that are asked about are live.
    pub(crate) unsafe fn new() -> Self {
        Self(())
    }
}

impl Vm for Marks {
    fn references(&mut self, object: u64, found: &mut dyn FnMut(u64)) {
        unsafe extern "C" fn note(object: VALUE, found: *mut c_void) {
            // SAFETY: `found` is the closure below, which outlives the call.
            let found = unsafe { &mut *found.cast::<&mut dyn FnMut(u64)>() };
            found(object);
        }
        let mut found = found;
        // SAFETY: the caller of `new` promised a live object and no GC; the function only passes addresses on.
        unsafe {
            rb_objspace_reachable_objects_from(object as VALUE, note, from_mut(&mut found).cast());
        }
    }

    fn roots(&mut self, found: &mut dyn FnMut(Root, u64)) {
        unsafe extern "C" fn note(category: *const c_char, object: VALUE, found: *mut c_void) {
            // SAFETY: `found` is the closure below, which outlives the call; the category is a C string.
            let (found, category) = unsafe {
                (&mut *found.cast::<&mut dyn FnMut(Root, u64)>(), CStr::from_ptr(category).to_bytes())
            };
            let root = match category {
                b"global_tbl" => Root::Global,
                b"global_list" => Root::Registered,
                b"finalizers" | b"end_proc" => Root::AtEnd,
                b"machine_context" => Root::Stack,
                _ => Root::Vm,
            };
            found(root, object);
        }
        let mut found = found;
        // SAFETY: the caller of `new` promised that no garbage is being collected; the function only passes
        // addresses on.
        unsafe { rb_objspace_reachable_objects_from_root(note, from_mut(&mut found).cast()) };
    }
}
