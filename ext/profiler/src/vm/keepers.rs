//! Objects that keep handles alive and in place, and that cost nothing in a minor garbage collection once
//! they are old.
//!
//! The root is marked again in each collection, and so is all that it marks. A keeper is write-barrier
//! protected: it is visited until it and its handles are old, which takes three or four collections, and
//! after that in major ones only. A keeper that is filled never gets another handle, as all of it would be
//! visited again.

use core::ffi::c_void;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::OnceLock;

use rb_sys::{rb_data_type_t, rbimpl_typeddata_flags, VALUE};

use crate::vm::door::quietly;

/// The number of handles that a keeper has space for.
pub(crate) const CAPACITY: usize = 512;

/// The handles of a keeper. The first `filled` are set.
struct Contents {
    filled: AtomicUsize,
    handles: [AtomicUsize; CAPACITY],
}

/// A keeper, which must be pinned in every marking until it is dropped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keeper {
    object: u64,
    /// The address of the contents, which live as long as the object.
    contents: usize,
}

struct KeeperType(rb_data_type_t);

// SAFETY: written once, before it is shared; the VM only reads it.
unsafe impl Sync for KeeperType {}
// SAFETY: it holds only pointers to functions and static text, which belong to no thread.
unsafe impl Send for KeeperType {}

fn data_type() -> &'static rb_data_type_t {
    static TYPE: OnceLock<KeeperType> = OnceLock::new();
    let made = TYPE.get_or_init(|| {
        // SAFETY: all fields of the type may be null or zero.
        let mut data_type: rb_data_type_t = unsafe { core::mem::zeroed() };
        data_type.wrap_struct_name = c"Profiler::Keeper".as_ptr();
        data_type.function.dmark = Some(mark);
        data_type.function.dfree = Some(free);
        data_type.function.dsize = Some(size);
        data_type.flags = (rbimpl_typeddata_flags::RUBY_TYPED_WB_PROTECTED as VALUE)
            | (rbimpl_typeddata_flags::RUBY_TYPED_FREE_IMMEDIATELY as VALUE);
        KeeperType(data_type)
    });
    &made.0
}

impl Keeper {
    /// Creates an empty keeper. Returns `None` if there is no memory. May run the GC.
    ///
    /// # Safety
    /// The caller holds the GVL, and pins the keeper before the GC can run again, or drops it.
    pub(crate) unsafe fn new() -> Option<Self> {
        let filled = AtomicUsize::new(0);
        let contents = Box::new(Contents { filled, handles: [const { AtomicUsize::new(0) }; CAPACITY] });
        let contents = Box::into_raw(contents);
        // SAFETY: the caller holds the GVL; no value with a destructor is alive inside. From then on `free`
        // frees the contents.
        let object =
            unsafe { quietly(|| rb_sys::rb_data_typed_object_wrap(0, contents.cast(), data_type())) };
        if object.is_none() {
            // SAFETY: the Box was taken apart above, and no object was made that owns the contents.
            drop(unsafe { Box::from_raw(contents) });
        }
        Some(Self { object: object?, contents: contents as usize })
    }

    fn contents(&self) -> &Contents {
        // SAFETY: the contents live as long as the object, which the owner of a `Keeper` pins.
        unsafe { &*(self.contents as *const Contents) }
    }

    /// Fills the keeper, which keeps the handles from then on.
    ///
    /// # Safety
    /// The caller holds the GVL; the keeper is empty and pinned; the handles are live, and something else
    /// marks them meanwhile.
    pub(crate) unsafe fn fill(&self, handles: &[u64; CAPACITY]) {
        let contents = self.contents();
        for (place, handle) in contents.handles.iter().zip(handles) {
            place.store(*handle as usize, Ordering::Relaxed);
        }
        contents.filled.store(CAPACITY, Ordering::Relaxed);
        for handle in handles {
            // SAFETY: the keeper and the handle are live. The call creates no object, but may let another
            // Ractor collect garbage.
            unsafe { rb_sys::rb_gc_writebarrier(self.object as VALUE, *handle as VALUE) };
        }
    }

    /// Empties the keeper, as its handles are no longer needed. A dead keeper may still be marked, if a word
    /// on the stack looks like its address.
    pub(crate) fn empty(&self) {
        self.contents().filled.store(0, Ordering::Relaxed);
    }

    /// Keeps the keeper alive and in place.
    ///
    /// # Safety
    /// Only inside the mark function of the root; the keeper was pinned in every marking since it was
    /// created.
    pub(crate) unsafe fn pin(&self) {
        // SAFETY: the mark function is running, and the keeper was pinned in every marking before.
        unsafe { rb_sys::rb_gc_mark(self.object as VALUE) };
    }
}

/// Marks the handles of a keeper.
///
/// *Runs on:* the thread that collects. *Calls:* `rb_gc_mark`, which pins.
unsafe extern "C" fn mark(contents: *mut c_void) {
    // SAFETY: the VM passes the pointer that the object was created with.
    let contents = unsafe { &*contents.cast::<Contents>() };
    let filled = contents.filled.load(Ordering::Relaxed);
    for handle in contents.handles.iter().take(filled) {
        // SAFETY: the handles were live when they were stored, and have been kept alive since.
        unsafe { rb_sys::rb_gc_mark(handle.load(Ordering::Relaxed) as VALUE) };
    }
}

unsafe extern "C" fn free(contents: *mut c_void) {
    // SAFETY: the VM passes the pointer that the object was created with, once.
    drop(unsafe { Box::from_raw(contents.cast::<Contents>()) });
}

unsafe extern "C" fn size(_contents: *const c_void) -> rb_sys::size_t {
    core::mem::size_of::<Contents>() as rb_sys::size_t
}
