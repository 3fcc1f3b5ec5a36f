//! The rounds of the ticker, and the wait for the last one.

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{fence, AtomicBool, Ordering};
use ::std::thread::yield_now;

/// Whether the ticker is sending ticks.
static IN_ROUND: AtomicBool = AtomicBool::new(false);

/// A round, until it is dropped.
pub(super) struct Round;

impl Round {
    pub(super) fn begin() -> Self {
        IN_ROUND.store(true, Ordering::Relaxed);
        // Pairs with the fence in `wait_for_end`: either the round sees that the ticker was stopped, or the
        // round is waited for.
        fence(Ordering::SeqCst);
        Self
    }
}

impl Drop for Round {
    fn drop(&mut self) {
        // Release pairs with the Acquire in `wait_for_end`: all signals were sent before.
        IN_ROUND.store(false, Ordering::Release);
    }
}

/// Waits until the ticker, which was stopped, has sent its last tick. That takes no longer than a round,
/// which never blocks.
pub(crate) fn wait_for_end() {
    fence(Ordering::SeqCst);
    while IN_ROUND.load(Ordering::Acquire) {
        yield_now();
    }
}

/// Forgets the round of the parent in a forked child.
pub(super) fn forget() {
    IN_ROUND.store(false, Ordering::Relaxed);
}
