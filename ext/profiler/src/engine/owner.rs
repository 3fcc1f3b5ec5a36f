//! The thread that a SIGPROF is the tick of.

use ::core::prelude::rust_2021::*;

use crate::engine::no_tick::NoTick;
use crate::engine::{perf, setitimer, thread_timer};
use crate::sys::siginfo::{TimerInfo, FROM_DESCRIPTOR, FROM_KERNEL, FROM_PROCESS, FROM_TIMER};
use crate::threads::ThreadState;

/// The thread that a signal is the tick of. `enabled` is whether any session runs. The thread of a timer is found all the same.
///
/// # Signal safety
/// Loads. *Runs on:* the thread that the signal came to.
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
