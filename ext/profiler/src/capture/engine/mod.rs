//! What fires. Every engine raises SIGPROF on the thread that it is about; weights are clock deltas
//! and do not care which engine it was.

use ::core::prelude::rust_2021::*;

pub(crate) mod thread_timer;

/// How ticks come about and where stacks are walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    /// A timer on each thread's CPU clock; the handler walks.
    ThreadTimer,
    /// The same timers; the walk waits for the next point where Ruby checks its interrupts. For VMs
    /// whose frames are not whole at every instruction. Skewed towards those points.
    Safepoint,
}

impl Engine {
    pub(crate) const ALL: [Self; 2] = [Self::ThreadTimer, Self::Safepoint];

    /// Its name in options, headers and files.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ThreadTimer => "thread_timer",
            Self::Safepoint => "safepoint",
        }
    }
}
