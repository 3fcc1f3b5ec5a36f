//! A SIGPROF that is not a tick of any thread.

use ::core::prelude::rust_2021::*;

use ::profiler_core::record::counters::{count, Counters};

/// The reason why a signal is not a tick of any thread.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NoTick {
    /// A tick of a session that has ended.
    Late,
    /// A signal that other code sent.
    Foreign,
    /// A tick of the whole process, on a thread that no session profiles.
    Unwanted,
}

impl NoTick {
    /// Counts the signal, unless it is of no interest.
    #[inline]
    pub(crate) fn count_in(self, counters: &Counters) {
        match self {
            Self::Late => count(&counters.late),
            Self::Foreign => count(&counters.foreign),
            Self::Unwanted => {}
        }
    }
}
