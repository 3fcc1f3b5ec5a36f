//! The kind and the references of an object of the VM, even of one that Ruby code never sees.
//!
//! An object is its VALUE as a number. That number is valid until the GC can run, or as long as something
//! that the GC sees holds the object in place: the machine's stack, or a [`Pinned`].
//!
//! The references come from `rb_objspace_reachable_objects_from`, which libruby exports for its own objspace.

use core::ffi::{c_long, c_void};
use std::time::{Duration, Instant};

use rb_sys::{ruby_value_type, VALUE};

use crate::vm::state::during_gc;

/// Whether asking for references aborts the process while another Ractor is collecting garbage: before Ruby
/// 3.3 the VM does not wait for the collection.
pub(crate) const REFERENCES_KILL_BESIDE_RACTORS: bool = !cfg!(ruby_gte_3_3);

/// The longest time to wait for the end of another Ractor's collection, which consists of short steps.
const COLLECTION_PATIENCE: Duration = Duration::from_millis(100);

extern "C" {
    // Exported by every libruby for its own extension objspace, but in no installed header.
    fn rb_objspace_reachable_objects_from(
        object: VALUE,
        found: unsafe extern "C" fn(VALUE, *mut c_void),
        data: *mut c_void,
    );
}

/// The kind of an object, as far as names need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    /// A class, including a singleton class.
    Class,
    /// A module, including a refinement.
    Module,
    /// The place of a module among the ancestors of a class.
    Inclusion,
    /// A method entry.
    Method,
    /// The code of a method, block, class body or file.
    Iseq,
    /// Data of C code, such as a Proc.
    Data,
    Other,
}

/// The bits by which the VM distinguishes its internal objects (imemo.h of Ruby 3.1 to 3.4).
const IMEMO_SHIFT: u64 = 12;
const IMEMO_MASK: u64 = 0xf;
const IMEMO_METHOD: u64 = 6;
const IMEMO_ISEQ: u64 = 7;

/// Returns the kind of `object`.
///
/// # Signal safety
/// Reads the first word of the object.
///
/// # Safety
/// `object` is a live object of the heap.
#[inline]
pub(crate) unsafe fn kind(object: u64) -> ObjectKind {
    // SAFETY: the first word of every object holds its flags.
    let (builtin, flags) = unsafe { (rb_sys::RB_BUILTIN_TYPE(object as VALUE), *(object as *const u64)) };
    match builtin {
        ruby_value_type::RUBY_T_CLASS => ObjectKind::Class,
        ruby_value_type::RUBY_T_MODULE => ObjectKind::Module,
        ruby_value_type::RUBY_T_ICLASS => ObjectKind::Inclusion,
        ruby_value_type::RUBY_T_DATA => ObjectKind::Data,
        ruby_value_type::RUBY_T_IMEMO => match (flags >> IMEMO_SHIFT) & IMEMO_MASK {
            IMEMO_METHOD => ObjectKind::Method,
            IMEMO_ISEQ => ObjectKind::Iseq,
            _ => ObjectKind::Other,
        },
        _ => ObjectKind::Other,
    }
}

/// Puts the objects that `object` refers to into `found`, in the order in which the VM marks them. Allocates
/// no Ruby object. Before Ruby 3.3 it waits for another Ractor that is collecting garbage, and finds nothing
/// if that takes too long. That Ractor may still begin in the instants between its answer and the VM's own
/// check.
///
/// # Safety
/// The caller holds the GVL and is not in a GC; the object is live.
pub(crate) unsafe fn references(object: u64, found: &mut Vec<u64>) {
    unsafe extern "C" fn note(object: VALUE, found: *mut c_void) {
        // SAFETY: `found` is the Vec below, which no other code touches meanwhile.
        let found = unsafe { &mut *found.cast::<Vec<u64>>() };
        found.push(object);
    }
    found.clear();
    if REFERENCES_KILL_BESIDE_RACTORS && !collection_ends() {
        return;
    }
    // SAFETY: the caller holds the GVL outside of a GC and passes a live object; the function only records
    // addresses.
    unsafe { rb_objspace_reachable_objects_from(object as VALUE, note, core::ptr::from_mut(found).cast()) };
}

/// Waits until no Ractor collects garbage. Returns false if that takes too long.
fn collection_ends() -> bool {
    if !during_gc() {
        return true;
    }
    let till = Instant::now() + COLLECTION_PATIENCE;
    while during_gc() {
        if Instant::now() > till {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

/// Returns whether `object` is a Proc.
///
/// # Safety
/// The caller holds the GVL; the object is live.
pub(crate) unsafe fn is_proc(object: u64) -> bool {
    // SAFETY: the caller holds the GVL and passes a live object, whose type is read.
    unsafe { rb_sys::rb_obj_is_proc(object as VALUE) == rb_sys::Qtrue as VALUE }
}

/// A set of objects that stay live and in place as long as this value is on the machine's stack.
pub(crate) struct Pinned {
    holder: VALUE,
    slots: *mut u64,
    capacity: usize,
    objects: usize,
}

impl Pinned {
    /// Creates a holder of `capacity` objects. May run the GC.
    ///
    /// # Safety
    /// The caller holds the GVL, and keeps the result on the machine's stack.
    pub(crate) unsafe fn with_capacity_for(capacity: usize) -> Self {
        let bytes = capacity.max(1).saturating_mul(8);
        let mut holder: VALUE = 0;
        // SAFETY: the caller holds the GVL. The VM scans this buffer as it does the stack: any word that
        // looks like an object is pinned.
        let slots = unsafe {
            let slots = allocate(&raw mut holder, bytes as c_long).cast::<u64>();
            core::ptr::write_bytes(slots, 0, capacity.max(1));
            slots
        };
        Self { holder, slots, capacity, objects: 0 }
    }

    /// Adds an object. Returns false if the holder is full.
    pub(crate) fn push(&mut self, object: u64) -> bool {
        if self.objects == self.capacity {
            return false;
        }
        // SAFETY: `objects` is below `capacity`, which is the size of the buffer that the holder owns.
        unsafe { *self.slots.add(self.objects) = object };
        self.objects += 1;
        true
    }

    /// Removes all objects.
    pub(crate) fn clear(&mut self) {
        self.objects = 0;
    }
}

/// Allocates a buffer that the VM scans for objects. From Ruby 4.1 on it does so on request.
///
/// # Safety
/// Same as for [`Pinned::with_capacity_for`].
unsafe fn allocate(holder: *mut VALUE, bytes: c_long) -> *mut c_void {
    // SAFETY: the caller holds the GVL, and keeps the holder on the machine's stack.
    unsafe {
        #[cfg(not(ruby_gt_4_0))]
        return rb_sys::rb_alloc_tmp_buffer(holder, bytes);
        #[cfg(ruby_gt_4_0)]
        return rb_sys::rb_alloc_tmp_buffer(holder, bytes, true);
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: the buffer belongs only to this value.
        unsafe { rb_sys::rb_free_tmp_buffer(&raw mut self.holder) };
    }
}
