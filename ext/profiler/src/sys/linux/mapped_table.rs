//! A table that grows without malloc, for code that must not allocate, or whose memory must not look like
//! that of the program.

use ::core::mem::size_of;
use ::core::prelude::rust_2021::*;
use ::core::ptr::{null_mut, NonNull};

use ::profiler_core::memory::index::Table;

/// The bytes of the first mapping.
const FIRST: usize = 64 * 1024;

/// A table of rows in a mapping of its own.
#[derive(Debug)]
pub(crate) struct MappedTable<T> {
    start: NonNull<T>,
    rows: usize,
    /// The bytes of the mapping.
    bytes: usize,
}

// SAFETY: the mapping belongs only to the value, like the memory of a Vec.
unsafe impl<T: Send> Send for MappedTable<T> {}

impl<T: Copy> MappedTable<T> {
    /// Creates an empty table, which has no memory yet.
    pub(crate) fn new() -> Self {
        Self { start: NonNull::dangling(), rows: 0, bytes: 0 }
    }

    /// Makes room for `rows` more. Returns false if the system refuses.
    pub(crate) fn reserve(&mut self, rows: usize) -> bool {
        let needed = (self.rows + rows).saturating_mul(size_of::<T>());
        if needed <= self.bytes {
            return true;
        }
        let bytes = needed.max(self.bytes.saturating_mul(2)).next_multiple_of(FIRST);
        // SAFETY: the system picks an address that is free, or moves the mapping that belongs to this value.
        let at = unsafe {
            if self.bytes == 0 {
                let (access, kind) =
                    (::libc::PROT_READ | ::libc::PROT_WRITE, ::libc::MAP_PRIVATE | ::libc::MAP_ANONYMOUS);
                ::libc::mmap(null_mut(), bytes, access, kind, -1, 0)
            } else {
                ::libc::mremap(self.start.as_ptr().cast(), self.bytes, bytes, ::libc::MREMAP_MAYMOVE)
            }
        };
        match NonNull::new(at.cast::<T>()) {
            Some(start) if at != ::libc::MAP_FAILED => {
                (self.start, self.bytes) = (start, bytes);
                true
            }
            _ => false,
        }
    }

    /// Returns the unused rows, to be filled by the system.
    pub(crate) fn spare(&mut self) -> (*mut T, usize) {
        // SAFETY: at most the end of the mapping.
        let at = unsafe { self.start.as_ptr().add(self.rows) };
        (at, self.bytes / size_of::<T>() - self.rows)
    }

    /// Adds rows that were written to [`spare`](Self::spare).
    ///
    /// # Safety
    /// `rows` rows were written there.
    pub(crate) unsafe fn add_written(&mut self, rows: usize) {
        self.rows += rows;
    }

    /// Returns the range of the mapping.
    pub(crate) fn range(&self) -> (u64, u64) {
        let start = self.start.as_ptr() as u64;
        (start, start + self.bytes as u64)
    }

    /// Removes all rows, and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.rows = 0;
    }
}

impl<T: Copy> Default for MappedTable<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Copy> Table<T> for MappedTable<T> {
    #[inline]
    fn push(&mut self, row: T) -> bool {
        if (self.rows + 1) * size_of::<T>() > self.bytes && !self.reserve(1) {
            return false;
        }
        // SAFETY: the mapping has room for the row.
        unsafe { self.start.as_ptr().add(self.rows).write(row) };
        self.rows += 1;
        true
    }

    fn rows(&self) -> &[T] {
        // SAFETY: `self.rows` rows were written, and nobody else changes them.
        unsafe { ::core::slice::from_raw_parts(self.start.as_ptr(), self.rows) }
    }

    fn rows_mut(&mut self) -> &mut [T] {
        // SAFETY: `self.rows` rows were written, and nobody else has them.
        unsafe { ::core::slice::from_raw_parts_mut(self.start.as_ptr(), self.rows) }
    }
}

impl<T> Drop for MappedTable<T> {
    fn drop(&mut self) {
        if self.bytes != 0 {
            // SAFETY: the mapping belongs to this value.
            unsafe { ::libc::munmap(self.start.as_ptr().cast(), self.bytes) };
        }
    }
}
