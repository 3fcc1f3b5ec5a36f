//! The pages of Ruby's heap, and its classes, as they are in one hold of the GVL.

use core::ffi::{c_int, c_void};

use magnus::{prelude::*, Error, RClass, RHash, RModule, Ruby};
use rb_sys::{ruby_value_type, VALUE};

use crate::vm::door::quietly;

extern "C" {
    // Exported by every libruby for its own extension objspace, but in no installed header.
    fn rb_objspace_each_objects(
        found: unsafe extern "C" fn(*mut c_void, *mut c_void, usize, *mut c_void) -> c_int,
        data: *mut c_void,
    );
}

/// The bytes of the transient heap, which is one mapping; 0 where Ruby has none.
pub(crate) const TRANSIENT_BYTES: u64 = if cfg!(ruby_gte_3_3) { 0 } else { 32 << 20 };

/// A run of slots: a page of the heap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slots {
    /// The first slot.
    pub(crate) first: u64,
    /// The address after the last slot.
    pub(crate) end: u64,
    /// The bytes of a slot.
    pub(crate) slot: u64,
}

/// The sizes that Ruby chose when it started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// The bytes of a page of the heap.
    pub(crate) page: u64,
    /// The bytes of a fiber's stack, of the machine and of the VM.
    pub(crate) fiber: u64,
}

/// Collects garbage, sweeps all of it, and runs finalizers. Returns whether no other collection began
/// meanwhile, so that no slot waits to be swept. If the program has disabled the GC, garbage stays on Rubies
/// before 3.4.
///
/// # Safety
/// The caller holds the GVL and is not in a GC. Finalizers run, and other threads may.
pub(crate) unsafe fn collect() -> bool {
    // SAFETY: the caller holds the GVL outside of a GC; what finalizers raise is the VM's to catch.
    unsafe {
        let before = rb_sys::rb_gc_count();
        let collected = quietly(|| {
            rb_sys::rb_gc();
            rb_sys::Qnil as VALUE
        });
        collected.is_some() && rb_sys::rb_gc_count() <= before + 1
    }
}

/// Returns the number of collections so far.
///
/// # Safety
/// The caller holds the GVL.
pub(crate) unsafe fn collections() -> usize {
    // SAFETY: the caller holds the GVL; the call reads a number.
    unsafe { rb_sys::rb_gc_count() as usize }
}

/// Returns the number of slots that hold an object.
///
/// # Safety
/// The caller holds the GVL and is not in a GC.
pub(crate) unsafe fn live_slots() -> u64 {
    // SAFETY: the caller holds the GVL outside of a GC; the VM knows this key.
    unsafe {
        let key = rb_sys::rb_id2sym(rb_sys::rb_intern2(c"heap_live_slots".as_ptr(), 15));
        rb_sys::rb_gc_stat(key) as u64
    }
}

/// Passes each page of the heap to `found`, after the rest of a running collection is done. Allocates no
/// Ruby object.
///
/// # Safety
/// The caller holds the GVL and is not in a GC; `found` neither raises nor calls Ruby.
pub(crate) unsafe fn each_page<F: FnMut(Slots)>(mut found: F) {
    unsafe extern "C" fn note<F: FnMut(Slots)>(
        first: *mut c_void,
        end: *mut c_void,
        slot: usize,
        found: *mut c_void,
    ) -> c_int {
        // SAFETY: `found` is the closure below, which outlives the call.
        let found = unsafe { &mut *found.cast::<F>() };
        found(Slots { first: first as u64, end: end as u64, slot: slot as u64 });
        0
    }
    // SAFETY: the caller holds the GVL outside of a GC.
    unsafe { rb_objspace_each_objects(note::<F>, (&raw mut found).cast()) };
}

/// Returns the class that represents the class at a slot: the first that is not a singleton class. `None` if
/// no class is in the slot.
///
/// # Safety
/// The caller holds the GVL, no garbage is being collected or waits to be swept, and the slot is of a page
/// of [`each_page`].
pub(crate) unsafe fn class_in(slot: u64) -> Option<u64> {
    // SAFETY: the first two words of every slot are flags and class; those of a free one are 0 or a link.
    unsafe {
        let flags = *(slot as *const u64);
        let is_class = flags & 0x1f == ruby_value_type::RUBY_T_CLASS as u64;
        is_class.then(|| rb_sys::rb_class_real(slot as VALUE) as u64)
    }
}

/// Returns the sizes that Ruby chose when it started.
///
/// # Errors
/// Raises if this Ruby does not define these constants; all supported versions do.
pub(crate) fn sizes(ruby: &Ruby) -> Result<Sizes, Error> {
    let objects = ruby.class_object();
    let gc: RHash = objects.const_get::<_, RModule>("GC")?.const_get("INTERNAL_CONSTANTS")?;
    let vm: RHash = objects.const_get::<_, RClass>("RubyVM")?.const_get("DEFAULT_PARAMS")?;
    let number = |all: RHash, name: &str| all.fetch::<_, u64>(ruby.to_symbol(name));
    Ok(Sizes {
        page: number(gc, "HEAP_PAGE_SIZE")?,
        fiber: number(vm, "fiber_vm_stack_size")? + number(vm, "fiber_machine_stack_size")?,
    })
}
