//! Counters that continue in a forked child.
//!
//! The child notes what it inherited, and subtracts it.

use std::sync::atomic::{AtomicU64, Ordering};

use profiler_core::record::counters::Counts;

use crate::shared::CAPTURE;
use crate::threads;

/// Counters that continue in a forked child, where a part of them belongs to the parent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cumulative {
    /// The fates of all ticks.
    pub(super) counts: Counts,
    /// The time spent in signal handlers, in nanoseconds.
    pub(super) handler_ns: u64,
}

impl Cumulative {
    /// Returns zeros, which is the parent's part in a process that was not forked.
    pub(super) const fn nothing() -> Self {
        Self { counts: Counts::nothing(), handler_ns: 0 }
    }

    /// Returns all counts up to now. Consists only of loads, as a child that was just forked calls it.
    pub(super) fn now() -> Self {
        Self { counts: counts(), handler_ns: handler_ns() }
    }

    /// Returns the part that was counted after `before`.
    pub(super) fn since(&self, before: &Self) -> Self {
        Self {
            counts: self.counts.since(&before.counts),
            handler_ns: self.handler_ns.saturating_sub(before.handler_ns),
        }
    }
}

fn counts() -> Counts {
    CAPTURE.hub().map(|hub| hub.counters.read()).unwrap_or_default()
}

/// Returns the time spent in signal handlers. A state that is freed meanwhile counts twice for an instant. So
/// the highest reading is returned until the others have caught up with it: a counter that fell would be
/// mistaken for one that restarted.
fn handler_ns() -> u64 {
    static HIGHEST: AtomicU64 = AtomicU64::new(0);
    let now_ns = threads::handler_ns();
    HIGHEST.fetch_max(now_ns, Ordering::Relaxed).max(now_ns)
}
