//! The state that the sampler keeps of a slice: see `slices`.

use profiler_core::ids::ScopeId;
use profiler_core::pipeline::SessionId;

use crate::sampler::markers::Markers;
use crate::sampler::readings::Start;

/// See the module.
#[derive(Debug)]
pub(super) struct Slice {
    pub(super) id: SessionId,
    /// Its session.
    pub(super) of: SessionId,
    pub(super) scope: ScopeId,
    /// The native thread on which it began. A forked child has the slices of the thread that forked.
    pub(super) bound_to: i32,
    pub(super) start: Start,
    /// The longest interval at which its session has ticked since, ns.
    pub(super) widest_ns: u64,
    pub(super) markers: Markers,
}
