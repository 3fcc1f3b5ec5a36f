//! The markers of a session.

use profiler_core::profile::{Marker, Thread};

/// The largest number of markers that a session keeps.
const MAX_MARKERS: usize = 10_000;

/// The markers of a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Markers {
    pub(crate) list: Vec<Marker>,
    /// The number of markers beyond the limit, which were dropped.
    pub(crate) refused: u64,
}

/// An interval that the app has named, and that ends now.
pub(super) struct Interval<'a> {
    pub(super) name: &'a str,
    pub(super) thread: Thread,
    /// The start and the end on the monotonic clock, in nanoseconds.
    pub(super) started_ns: u64,
    pub(super) now_ns: u64,
    /// The end on the real-time clock, in nanoseconds since 1970.
    pub(super) at_ns: u64,
}

impl Markers {
    /// Records the interval in a session that began at `began_ns` on the monotonic clock. If the session
    /// began within the interval, records the rest of it.
    pub(super) fn push(&mut self, interval: &Interval<'_>, began_ns: u64) {
        if self.list.len() >= MAX_MARKERS {
            self.refused += 1;
            return;
        }
        let duration_ns = interval.now_ns.saturating_sub(interval.started_ns.max(began_ns));
        let started_at_ns = interval.at_ns.saturating_sub(duration_ns);
        let (name, thread) = (interval.name.into(), interval.thread.clone());
        self.list.push(Marker { started_at_ns, duration_ns, name, thread });
    }
}
