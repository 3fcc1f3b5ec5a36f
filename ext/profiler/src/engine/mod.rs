//! The engines that make threads tick. Each raises SIGPROF on the thread that the tick is about. Weights are
//! differences of clocks and do not depend on the engine.
//!
//! * [`perf`] signals at any interval, but not in the kernel. Creating and ending a counter takes ten times
//!   as long as with a timer, so a thread has only its timer for the first milliseconds
//!   (`sampler/timers.rs`), and both later.
//! * [`thread_timer`] ticks at most once per tick of the kernel. Its signal arrives as the thread returns to
//!   its own code, so it ends no system call.
//! * [`ticker`] is a thread of the profiler's. It signals threads that run, as finely as requested. A thread may enter
//!   a system call with the GVL just before the signal arrives, which ends that call. So this engine is used
//!   only on request, or before Ruby 3.3, where the thread samples waits as well.
//! * [`setitimer`] has one timer for the process, and the thread that was running gets the signal.
//! * `safepoint` has the timers of `thread_timer`. The walk comes later, in a postponed job. Only a thread
//!   without the GVL is walked immediately, as its Ruby stack does not change.
//!
//! `options/config.rs` chooses the engine. A waiting thread needs no tick: hooks record the wait, and
//! [`blocks`] polls for threads that wait with the GVL.
//!
//! On macOS only `setitimer` exists: [`needs_linux`].
//!
//! No engine decides which threads tick: that is up to the plan (`core/ticking/plan.rs`).

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicBool, Ordering};

use ::profiler_core::record::counters::{count, Counters};
use ::profiler_core::ticking::engine::Engine;

use crate::sys::clock;
use crate::sys::native_thread;
use crate::sys::NEEDS_LINUX;

pub(crate) mod alarm;
pub(crate) mod blocks;
pub(crate) mod owner;
pub(crate) mod perf;
pub(crate) mod progress;
pub(crate) mod round;
pub(crate) mod setitimer;
pub(crate) mod thread_timer;
pub(crate) mod tick;
pub(crate) mod ticker;

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

/// Whether no engine arms anything: see [`halt`].
static HALTED: AtomicBool = AtomicBool::new(false);

/// Sets whether all engines stop arming from now on, as the process may turn into another program. Until then
/// a call that arms a timer succeeds without an effect. The caller that ends this arms all timers again.
/// Needs the GVL and the lock of the sampler.
pub(crate) fn halt(halted: bool) {
    HALTED.store(halted, Ordering::Relaxed);
}

/// Returns whether engines are halted. Relaxed is enough: a caller that arms has the GVL or the lock of the
/// sampler.
fn is_halted() -> bool {
    HALTED.load(Ordering::Relaxed)
}

/// Returns the reason why this system has no such engine, or `None` if it may have it.
pub(crate) fn needs_linux(engine: Engine) -> Option<&'static str> {
    NEEDS_LINUX.filter(|_| engine != Engine::Setitimer)
}

/// Returns a random number, not for secrets: the low digits of the clock, mixed.
fn random() -> u64 {
    let mut word = clock::monotonic_ns() ^ (native_thread::pthread_self() as u64).rotate_left(32);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}
