//! The name of a thread, kept for the time after its end.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use profiler_core::text::MAX_NAME_BYTES;

const WORDS: usize = MAX_NAME_BYTES / size_of::<u64>();

/// A name of up to 256 bytes, followed by zeros.
#[derive(Debug)]
pub(crate) struct KeptName([AtomicU64; WORDS]);

impl KeptName {
    pub(super) const fn new() -> Self {
        Self([const { AtomicU64::new(0) }; WORDS])
    }

    pub(super) fn reset(&self) {
        self.0.iter().for_each(|word| word.store(0, Relaxed));
    }

    /// Keeps a name, or its first 256 bytes.
    pub(in crate::threads) fn set(&self, name: &[u8]) {
        let mut words = name.chunks(size_of::<u64>());
        for word in &self.0 {
            let bytes = words.next().unwrap_or(&[]);
            word.store(bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)), Relaxed);
        }
    }

    /// Returns whether `native_name`, the operating system's name of the thread, is the beginning of the kept
    /// name, as far as the kernel stores it.
    pub(in crate::threads) fn has_cut(&self, native_name: &[u8]) -> bool {
        /// The largest number of bytes of a name that the kernel keeps.
        const NATIVE_BYTES: usize = 15;
        native_name.len() >= NATIVE_BYTES
            && self.get().starts_with(native_name.get(..NATIVE_BYTES).unwrap_or(&[]))
    }

    /// Returns the name, followed by zeros.
    pub(in crate::threads) fn get(&self) -> [u8; MAX_NAME_BYTES] {
        let mut name = [0; MAX_NAME_BYTES];
        for (bytes, word) in name.chunks_exact_mut(size_of::<u64>()).zip(&self.0) {
            bytes.copy_from_slice(&word.load(Relaxed).to_le_bytes());
        }
        name
    }
}
