//! Memory that the GC cannot see: what a Ruby object of ours owns outside of Ruby's heap.

/// Native memory that the GC counts (`rb_gc_adjust_memory_usage`) until this is dropped. Otherwise objects of
/// megabytes would look like a few words each, and would never be collected in time.
#[derive(Debug)]
pub(crate) struct External(usize);

impl External {
    /// Reports the bytes to the GC.
    ///
    /// # Safety
    /// The caller holds the GVL, and so does the thread that drops the value, or it is dropped by the GC.
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

/// Adds to the VM's count. This starts no GC, so it may be called inside of one: the next allocation of the
/// VM checks the count.
fn adjust(bytes: usize, sign: isize) {
    let change = isize::try_from(bytes).unwrap_or(isize::MAX) * sign;
    // SAFETY: the caller of `External::new` promised the GVL for both ends.
    unsafe { rb_sys::rb_gc_adjust_memory_usage(change as _) };
}
