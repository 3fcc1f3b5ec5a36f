//! The settings of the sampling of objects, for all sessions together.

use ::core::prelude::rust_2021::*;

use ::profiler_core::sampling::allocation_sampler::Window;

/// The demand of all sessions for samples of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Demand {
    /// The sampling window; `None` if no session samples objects.
    pub(crate) every: Option<Window>,
    /// Whether each sample has a time.
    pub(crate) timed: bool,
    /// Whether live objects are tracked, also while no session samples.
    pub(crate) heap: bool,
}
