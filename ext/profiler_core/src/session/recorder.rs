//! The timeline of a running session.

use crate::ids::{Id, Interner, RowId};
use crate::profile::timeline::{Timeline, TimelineEvent};
use crate::session::key::{Key, RowSums};
use crate::session::spec::Measures;

/// The recorder of a timeline. Keeps the weights that an aggregate attributes, in the order in which they are
/// reported.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    measures: Measures,
    started_ns: u64,
    /// The rows of the aggregate that have events.
    rows: Interner<Key, RowId>,
    timeline: Timeline,
}

impl Recorder {
    /// Creates the recorder of a session that started at `started_ns` on the monotonic clock.
    pub(crate) fn new(measures: Measures, started_ns: u64) -> Self {
        Self { measures, started_ns, rows: Interner::default(), timeline: Timeline::default() }
    }

    /// Takes the timeline so far. The next one starts at `now_ns` on the monotonic clock.
    pub(crate) fn rotate(&mut self, now_ns: u64) -> Self {
        std::mem::replace(self, Self::new(self.measures, now_ns))
    }

    /// Returns whether there is no event.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.rows().is_empty()
    }

    /// Records that `weight` went to the row of `key` at `now_ns` on the monotonic clock.
    pub(crate) fn add(&mut self, now_ns: u64, key: Key, weight: &RowSums) {
        let row = self.rows.intern(key);
        let time_ns = now_ns.saturating_sub(self.started_ns);
        self.timeline.push(&TimelineEvent { time_ns, row, weights: self.measures.weights(&key, weight) });
    }

    /// Returns the timeline in chronological order, with the rows that `place` returns.
    pub(crate) fn finish(self, place: impl Fn(&Key) -> Option<RowId>) -> Timeline {
        let places: Vec<Option<RowId>> = self.rows.rows().iter().map(place).collect();
        self.timeline.in_order(|row| places.get(row.index()).copied().flatten())
    }
}
