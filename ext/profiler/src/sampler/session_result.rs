//! The result of a session when it stops, or so far.

use profiler_core::pipeline::unresolved::Unresolved;
use profiler_core::profile::Marker;

use crate::sampler::readings::Start;
use profiler_core::session::engine::Engine;

/// The result of a session, with what its header needs.
#[derive(Debug)]
pub(crate) struct SessionResult {
    pub(crate) unresolved: Unresolved,
    pub(crate) start: Start,
    pub(crate) end: Start,
    pub(crate) engine: Engine,
    pub(crate) given_up: Option<&'static str>,
    pub(crate) no_objects: Option<&'static str>,
    pub(crate) untracked: u64,
    /// The longest interval at which it has ticked, ns.
    pub(crate) widest_ns: u64,
    pub(crate) markers: Vec<Marker>,
    pub(crate) markers_refused: u64,
}
