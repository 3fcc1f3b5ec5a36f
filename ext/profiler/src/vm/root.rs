//! The one object through which the GC learns of our handles.

use core::ffi::c_void;

use rb_sys::{rb_data_type_t, VALUE};

struct RootType(rb_data_type_t);

// SAFETY: written once, before it is shared; the VM only reads it.
unsafe impl Sync for RootType {}

/// Creates the root. The GC calls `mark` in every marking, and `compact` after objects were moved, as long as
/// the process lives. The VM frees the object when it shuts down, after the last Ruby code, and then calls
/// `end`. Its own hook on shutdown is too late: Ruby 4.0 has unmapped the main thread's stack by then.
///
/// The object is deliberately not write-barrier protected: so it is marked again in each minor GC and at the
/// end of an incremental marking, which is when a compaction decides what may move.
///
/// # Safety
/// The caller holds the GVL. Of the VM, `mark` calls only [`pin`], a statistic or a job, `compact` only
/// [`moved`], and `end` no function at all.
pub(crate) unsafe fn install(
    mark: unsafe extern "C" fn(*mut c_void),
    compact: unsafe extern "C" fn(*mut c_void),
    end: unsafe extern "C" fn(*mut c_void),
) {
    // SAFETY: all fields of the type may be null or zero.
    let mut data_type: rb_data_type_t = unsafe { core::mem::zeroed() };
    data_type.wrap_struct_name = c"Profiler::Root".as_ptr();
    data_type.function.dmark = Some(mark);
    data_type.function.dcompact = Some(compact);
    data_type.function.dfree = Some(end);
    let data_type: &'static RootType = Box::leak(Box::new(RootType(data_type)));
    // The VM does not mark an object whose data is null; this one has no data of its own.
    let data = core::ptr::NonNull::<c_void>::dangling().as_ptr();
    // SAFETY: the caller holds the GVL; the type lives for ever, and its functions do not touch the data.
    unsafe {
        let root: VALUE = rb_sys::rb_data_typed_object_wrap(0, data, &data_type.0);
        rb_sys::rb_gc_register_mark_object(root);
    }
}

/// Returns the present address of the object that was at `address`.
///
/// # Safety
/// Only inside the compact function; the object was live when objects were moved.
pub(crate) unsafe fn moved(address: u64) -> u64 {
    // SAFETY: the compact function is running, and the object was live when objects were moved.
    unsafe { rb_sys::rb_gc_location(address as VALUE) as u64 }
}

/// Keeps the object of a handle alive and in place.
///
/// # Safety
/// Only inside the mark function; `handle` was read while its object was live and has been marked in every
/// marking since.
pub(crate) unsafe fn pin(handle: u64) {
    // SAFETY: the mark function is running, and the handle's object was marked in every marking since it was
    // read. `rb_gc_mark` pins, unlike `rb_gc_mark_movable`.
    unsafe { rb_sys::rb_gc_mark(handle as VALUE) };
}
