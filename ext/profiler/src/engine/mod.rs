//! The engines that make threads tick. Each raises SIGPROF on the thread that the tick is about. Weights are clock deltas
//! and do not depend on the engine.
//!
//! * [`perf`] signals at any interval, but not in the kernel. A counter takes ten times as long to create and to end as a
//!   timer, so a thread has its timer alone for its first milliseconds (`sampler/timers.rs`), and beside it later.
//! * [`thread_timer`] ticks at most once per tick of the kernel. Its signal comes where the thread returns to its own
//!   code, so it ends no system call.
//! * [`ticker`] is a thread of ours. It signals threads that run, as finely as requested. A thread may enter a system call
//!   with the GVL just before the signal arrives, which ends that call. So this engine is used on request alone, or before
//!   Ruby 3.3, where the thread samples waits as well.
//! * [`setitimer`] has one timer for the process, and the thread that ran gets the signal.
//! * `safepoint` has the timers of `thread_timer`. The walk comes later, in a postponed job, but at once on a thread
//!   without the GVL, whose stack stands still.
//!
//! `options/config.rs` chooses. What waits needs no tick: hooks record it, and [`blocks`] looks for threads that wait with
//! the GVL.
//!
//! On macOS there is `setitimer` alone: [`needs_linux`].
//!
//! Here nobody decides for which threads: that is the plan's (`core/ticking/plan.rs`).

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicBool, Ordering};

use ::profiler_core::ticking::engine::Engine;

use crate::sys::clock;
use crate::sys::native_thread;
use crate::sys::NEEDS_LINUX;

pub(crate) mod blocks;
pub(crate) mod no_tick;
pub(crate) mod owner;
pub(crate) mod perf;
pub(crate) mod progress;
pub(crate) mod setitimer;
pub(crate) mod thread_timer;
pub(crate) mod ticker;

/// Whether no engine arms anything: see [`halt`].
static HALTED: AtomicBool = AtomicBool::new(false);

/// Sets whether no engine arms anything from now on, as the process may turn into another program. Meanwhile a call that arms
/// a timer succeeds and does nothing. The caller that ends this has all timers armed again. Needs the GVL and the lock of the
/// sampler.
pub(crate) fn halt(halted: bool) {
    HALTED.store(halted, Ordering::Relaxed);
}

/// Whether engines are halted. Relaxed is enough: a caller that arms has the GVL or the lock of the sampler.
fn is_halted() -> bool {
    HALTED.load(Ordering::Relaxed)
}

/// The reason why this system has no such engine; `None` if it may have it.
pub(crate) fn needs_linux(engine: Engine) -> Option<&'static str> {
    NEEDS_LINUX.filter(|_| engine != Engine::Setitimer)
}

/// A random number, but not for secrets: the low digits of the clock, mixed.
fn random() -> u64 {
    let mut word = clock::monotonic_ns() ^ (native_thread::pthread_self() as u64).rotate_left(32);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}
