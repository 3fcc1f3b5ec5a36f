//! A collection: a session of the hub, which has a result. Its ticks are its own, or those of the session of which it is a slice.

use profiler_core::ids::ScopeId;
use profiler_core::pipeline::SessionId;
use profiler_core::profile::{LabelSet, Requests};

use crate::sampler::markers::Markers;
use crate::sampler::readings::ProcessReadings;

/// See the module.
#[derive(Debug)]
pub(super) struct Collection {
    pub(super) id: SessionId,
    /// Its ticks. They have the same id, unless it is a slice.
    pub(super) ticks: SessionId,
    /// The scope that it is limited to; everywhere if `None`.
    pub(super) scope: Option<ScopeId>,
    /// The native thread that ends it, if it is bound to one.
    pub(super) bound_to: Option<i32>,
    pub(super) start: ProcessReadings,
    /// The longest interval of its ticks since then, ns.
    pub(super) widest_ns: u64,
    pub(super) markers: Markers,
    /// The labels that requests must have to count.
    pub(super) labels: LabelSet,
    pub(super) requests: Requests,
}

impl Collection {
    /// Goes on from the end of what was taken. Its ticks come at that interval now, ns.
    pub(super) fn rotate(&mut self, end: &ProcessReadings, ticks_each_ns: u64) {
        self.start = self.start.next(end);
        self.widest_ns = ticks_each_ns;
        self.markers = Markers::default();
        self.requests = Requests::default();
    }

    /// Whether it has the ticks of another one.
    pub(super) fn is_slice(&self) -> bool {
        self.id != self.ticks
    }
}
