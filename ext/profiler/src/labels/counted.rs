//! A session that is counted as long as it runs.

use std::sync::atomic::{AtomicUsize, Ordering};

/// A session in a count, until it is dropped.
#[derive(Debug)]
pub(crate) struct Counted(&'static AtomicUsize);

impl Counted {
    pub(super) fn in_count(of: &'static AtomicUsize) -> Self {
        of.fetch_add(1, Ordering::Relaxed);
        Self(of)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
