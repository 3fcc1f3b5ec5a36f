//! The number of ticks that a thread got.

use core::sync::atomic::Ordering::Relaxed;

use crate::threads::state::ThreadState;

impl ThreadState {
    /// Counts a tick. As for [`ThreadState::add_handler_span`].
    #[inline]
    pub(crate) fn count_tick(&self) {
        self.ticks.store(self.ticks.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// Whether it got ticks since this was last asked. For the collector.
    pub(crate) fn has_ticked(&self) -> bool {
        let ticks = self.ticks.load(Relaxed);
        self.seen_ticks.swap(ticks, Relaxed) != ticks
    }
}
