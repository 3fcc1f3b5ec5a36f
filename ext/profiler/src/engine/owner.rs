//! The thread that a SIGPROF is a tick of.

use ::core::prelude::rust_2021::*;

use crate::engine::NoTick;
use crate::engine::{perf, setitimer, thread_timer};
use crate::sys::siginfo::{TimerInfo, FROM_DESCRIPTOR, FROM_KERNEL, FROM_PROCESS, FROM_TIMER};
use crate::threads::ThreadState;

/// Returns the thread that a signal is a tick of. `enabled` is true if any session runs. The thread of a
/// timer is found in either case.
///
/// # Signal safety
/// Loads. *Runs on:* the thread that received the signal.
#[inline]
pub(crate) fn owner_of(info: &TimerInfo, enabled: bool) -> Result<&'static ThreadState, NoTick> {
    match info.code() {
        FROM_TIMER => thread_timer::owner_of(info),
        FROM_DESCRIPTOR | FROM_KERNEL if !enabled => Err(NoTick::Late),
        FROM_DESCRIPTOR => perf::owner_of(info),
        FROM_KERNEL => setitimer::owner(),
        FROM_PROCESS if info.is_empty() && !enabled => Err(NoTick::Late),
        FROM_PROCESS if info.is_empty() => thread_timer::owner_of_empty(),
        _ => Err(NoTick::Foreign),
    }
}
