//! Whose tick a SIGPROF is.

use ::core::prelude::rust_2021::*;

use ::profiler_core::record::counters::{count, Counters};

use crate::engine::{perf, setitimer, thread_timer};
use crate::sys::siginfo::{TimerInfo, FROM_DESCRIPTOR, FROM_KERNEL, FROM_PROCESS, FROM_TIMER};
use crate::threads::ThreadState;

/// What a signal is that is no thread's tick.
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

/// The thread that a signal is the tick of. `enabled` is whether any session runs. The thread of a timer is found all the same.
///
/// # Signal safety
/// Loads. *Runs on:* the thread that the signal came to.
#[inline]
pub(crate) fn owner_of(info: &TimerInfo, enabled: bool) -> Result<&'static ThreadState, NoTick> {
    match info.code {
        FROM_TIMER => thread_timer::owner_of(info),
        FROM_DESCRIPTOR | FROM_KERNEL if !enabled => Err(NoTick::Late),
        FROM_DESCRIPTOR => perf::owner_of(info),
        FROM_KERNEL => setitimer::owner(),
        FROM_PROCESS if info.is_empty() && !enabled => Err(NoTick::Late),
        FROM_PROCESS if info.is_empty() => thread_timer::owner_of_empty(),
        _ => Err(NoTick::Foreign),
    }
}
