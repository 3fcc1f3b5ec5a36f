//! A collection: a session of the hub, which has a result. Its ticks are its own, or those of the session
//! that it is a slice of.

use profiler_core::ids::ScopeId;
use profiler_core::pipeline::SessionId;
use profiler_core::profile::{LabelSet, Requests};

use crate::sampler::markers::Markers;
use crate::sampler::readings::ProcessReadings;

/// A session of the hub, with its start, its markers and its requests.
#[derive(Debug)]
pub(super) struct Collection {
    pub(super) id: SessionId,
    /// The session whose ticks it uses: itself, unless it is a slice.
    pub(super) ticks_of: SessionId,
    /// The scope that the collection is limited to; `None` means everywhere.
    pub(super) scope: Option<ScopeId>,
    /// The native thread that ends the collection, if it is bound to one.
    pub(super) bound_to: Option<i32>,
    pub(super) start: ProcessReadings,
    /// The longest interval of the ticks since the start, in nanoseconds.
    pub(super) widest_ns: u64,
    pub(super) markers: Markers,
    /// The labels that requests must have to count.
    pub(super) labels: LabelSet,
    pub(super) requests: Requests,
    pub(super) pauses: Pauses,
}

/// The time during which a collection was paused.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pauses {
    ended_ns: u64,
    /// The start of the present pause, on the monotonic clock.
    since_ns: Option<u64>,
}

impl Pauses {
    pub(super) fn begin(&mut self, now_ns: u64) {
        self.since_ns.get_or_insert(now_ns);
    }

    pub(super) fn end(&mut self, now_ns: u64) {
        self.ended_ns = self.until(now_ns);
        self.since_ns = None;
    }

    /// Returns the sum of all pauses up to `now_ns`, in nanoseconds.
    pub(super) fn until(self, now_ns: u64) -> u64 {
        let present_ns = self.since_ns.map_or(0, |since_ns| now_ns.saturating_sub(since_ns));
        self.ended_ns.saturating_add(present_ns)
    }

    /// Returns the pauses from `now_ns` on.
    pub(super) fn since(self, now_ns: u64) -> Self {
        Self { ended_ns: 0, since_ns: self.since_ns.map(|_| now_ns) }
    }
}

impl Collection {
    /// Makes a collection that begins now: without a scope, labels or a thread that it is bound to.
    pub(super) fn new(id: SessionId, ticks_of: SessionId, start: ProcessReadings, widest_ns: u64) -> Self {
        Self {
            id,
            ticks_of,
            scope: None,
            bound_to: None,
            start,
            widest_ns,
            markers: Markers::default(),
            labels: LabelSet::EMPTY,
            requests: Requests::default(),
            pauses: Pauses::default(),
        }
    }

    /// Continues from `end`, the end of what was taken. `ticks_each_ns` is the present interval of the ticks in
    /// nanoseconds.
    pub(super) fn rotate(&mut self, end: ProcessReadings, ticks_each_ns: u64) {
        self.start = end;
        self.pauses = self.pauses.since(end.monotonic_ns);
        self.widest_ns = ticks_each_ns;
        self.markers = Markers::default();
        self.requests = Requests::default();
    }

    /// Returns whether the collection uses the ticks of another one.
    pub(super) fn is_slice(&self) -> bool {
        self.id != self.ticks_of
    }
}
