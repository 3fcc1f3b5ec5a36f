//! The number of ticks that a thread has received.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The ticks that a state's threads received, in all of its lives.
#[derive(Debug)]
pub(crate) struct TickCount {
    all: AtomicU64,
    /// The number of ticks when the timer was last compared with its interval.
    seen: AtomicU64,
}

impl TickCount {
    pub(super) const fn new() -> Self {
        Self { all: AtomicU64::new(0), seen: AtomicU64::new(0) }
    }

    pub(in crate::threads) fn all(&self) -> u64 {
        self.all.load(Relaxed)
    }

    /// Counts a tick. Only the thread itself may do so.
    #[inline]
    pub(crate) fn count(&self) {
        self.all.store(self.all().wrapping_add(1), Relaxed);
    }

    /// Returns whether more ticks have arrived since the last call. For the collector.
    pub(crate) fn have_come(&self) -> bool {
        let all = self.all();
        self.seen.swap(all, Relaxed) != all
    }
}
