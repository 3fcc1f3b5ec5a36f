//! What fires. Every engine raises SIGPROF on the thread that it is about; weights are clock deltas
//! and do not care which engine it was.

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicBool, Ordering};

use crate::sys::clock;
use crate::sys::native_thread;

pub(crate) mod perf;
pub(crate) mod progress;
pub(crate) mod setitimer;
pub(crate) mod thread_timer;
pub(crate) mod ticker;

/// How ticks come about and where stacks are walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    /// The kernel's counter of each thread's CPU time; the handler walks.
    Perf,
    /// A timer on each thread's CPU clock; the handler walks.
    ThreadTimer,
    /// A thread of ours that signals those that run; the handler walks.
    Ticker,
    /// One timer on the CPU clock of the process; the handler walks.
    Setitimer,
    /// The timers of the threads; the walk waits for the next point where Ruby checks its interrupts.
    /// For VMs whose frames are not whole at every instruction. Skewed towards those points.
    Safepoint,
}

impl Engine {
    pub(crate) const ALL: [Self; 5] =
        [Self::Perf, Self::ThreadTimer, Self::Ticker, Self::Setitimer, Self::Safepoint];

    /// Its name in options, headers and files.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Perf => "perf",
            Self::ThreadTimer => "thread_timer",
            Self::Ticker => "ticker",
            Self::Setitimer => "setitimer",
            Self::Safepoint => "safepoint",
        }
    }
}

/// Nothing is armed: see [`halt`].
static HALTED: AtomicBool = AtomicBool::new(false);

/// Whether no engine arms anything from now on, as the process may turn into another program. Those who ask for a timer are told
/// that they have one; whoever ends this has all of them armed again. With the GVL and the lock of the sampler.
pub(crate) fn halt(halted: bool) {
    HALTED.store(halted, Ordering::Relaxed);
}

/// Whether that is so. Relaxed: whoever arms has the GVL or the lock of the sampler.
fn is_halted() -> bool {
    HALTED.load(Ordering::Relaxed)
}

/// Not for secrets: the low digits of the clock, stirred.
fn random() -> u64 {
    let mut word = clock::monotonic_ns() ^ (native_thread::pthread_self() as u64).rotate_left(32);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

fn errno() -> i32 {
    // SAFETY: errno of the thread that we are on.
    unsafe { *::libc::__errno_location() }
}
