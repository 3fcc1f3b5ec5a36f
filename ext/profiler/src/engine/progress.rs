//! Time for the app between two ticks.
//!
//! Beside an engine with kernel timers (`:wall` before Ruby 3.3) only the ticker's own ticks are postponed.
//! There a pending tick may come from such a timer, and those are rare enough by themselves.

use ::core::sync::atomic::Ordering;

use crate::engine::perf;
use crate::shared::CAPTURE;
use crate::sys::clock;
use crate::sys::sigprof::take_pending;
use crate::threads::ThreadState;

/// Lets the calling thread, whose handler is about to end, run for `run_ns` before its next tick. The period
/// of its tick starts again. A pending tick is removed if it can only be one of those that start again.
/// Returns true if one was removed.
///
/// Otherwise a handler that takes as long as the interval (a stack of thousands of frames, a machine that is
/// slow today) would be followed by the next one at once. The thread would then make no progress, perhaps
/// while it holds the GVL.
///
/// # Signal safety
/// Two system calls that do not block.
pub(crate) fn ensure_progress(state: &ThreadState, run_ns: u64) -> bool {
    perf::restart_period(state, run_ns);
    state.ticker.next_tick_ns.store(clock::monotonic_ns() + run_ns, Ordering::Relaxed);
    CAPTURE.all_aimed.load(Ordering::Relaxed) && take_pending()
}
