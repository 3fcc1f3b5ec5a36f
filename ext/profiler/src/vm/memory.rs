//! Memory that the GC cannot see: what a Ruby object of ours owns outside of Ruby's heap.

/// Native memory that the GC counts (`rb_gc_adjust_memory_usage`) until this is dropped. Without it objects of megabytes would look
/// like a few words each, and nothing would ever collect them.
#[derive(Debug)]
pub(crate) struct External(usize);

impl External {
    /// Tells the GC of them.
    ///
    /// # Safety
    /// The caller holds the GVL, and so does whoever drops it: the thread that drops it, or the GC.
    pub(crate) unsafe fn new(bytes: usize) -> Self {
        adjust(bytes, 1);
        Self(bytes)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.0
    }
}

impl Drop for External {
    fn drop(&mut self) {
        adjust(self.0, -1);
    }
}

/// Adds to the VM's count. That starts no GC, so it may be done inside of one: the next allocation of the VM checks the count.
fn adjust(bytes: usize, sign: isize) {
    let change = isize::try_from(bytes).unwrap_or(isize::MAX) * sign;
    // SAFETY: `External::new` was promised the GVL for both ends.
    unsafe { rb_sys::rb_gc_adjust_memory_usage(change as _) };
}
