//! A SIGPROF that is no thread's tick.

use ::core::prelude::rust_2021::*;

use ::profiler_core::record::counters::{count, Counters};

/// The reason for which a signal is no thread's tick.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NoTick {
    /// The tick of a session that has ended.
    Late,
    /// Somebody else's signal.
    Foreign,
    /// A tick of the whole process, on a thread that no session profiles.
    Unwanted,
}

impl NoTick {
    /// Counts it, unless it is of no interest.
    #[inline]
    pub(crate) fn count_in(self, counters: &Counters) {
        match self {
            Self::Late => count(&counters.late),
            Self::Foreign => count(&counters.foreign),
            Self::Unwanted => {}
        }
    }
}
