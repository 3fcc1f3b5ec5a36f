//! The countdown of each thread to its next sample point, in bytes.
//!
//! A thread's countdown is in a slot by the hash of the thread's address. If another thread had the slot, the
//! thread takes it over, and draws anew. That does no harm: sample points have no memory, so a fresh draw at any
//! time is as good as what was left of the last one.

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering::Relaxed};

use ::profiler_core::rng;
use ::profiler_core::sampling::byte_sampler;

use crate::sys::clock;
use crate::sys::native_thread::thread_pointer;

/// The number of countdowns: so many that a few hundred threads seldom share one.
const SLOTS: usize = 1 << 10;

/// The countdown of a thread.
struct Countdown {
    /// The address of the thread; 0 if no thread has the slot.
    owner: AtomicUsize,
    /// The number of bytes up to the next sample point.
    left: AtomicI64,
}

static COUNTDOWNS: [Countdown; SLOTS] =
    [const { Countdown { owner: AtomicUsize::new(0), left: AtomicI64::new(0) } }; SLOTS];
/// The mean number of bytes between sample points; 0 while nothing is sampled.
static MEAN: AtomicU64 = AtomicU64::new(0);
static BITS: AtomicU64 = AtomicU64::new(0);

/// Returns the mean number of bytes between sample points; 0 while nothing is sampled.
pub(super) fn mean() -> u64 {
    MEAN.load(Relaxed)
}

/// Sets the mean number of bytes between sample points. Each thread draws anew.
pub(super) fn set_mean(mean: u64) {
    if MEAN.swap(mean, Relaxed) != mean {
        COUNTDOWNS.iter().for_each(|it| it.owner.store(0, Relaxed));
    }
}

/// Counts a block of the calling thread, unless there is a sample point on it. Returns whether there is none.
#[inline(always)]
pub(super) fn passes(size: usize) -> bool {
    let me = thread_pointer();
    let countdown = Countdown::of(me);
    let left = countdown.left.load(Relaxed).wrapping_sub_unsigned(size as u64);
    if countdown.owner.load(Relaxed) != me || left <= 0 {
        return false;
    }
    countdown.left.store(left, Relaxed);
    true
}

/// Counts a block of the calling thread. Returns whether it should be sampled.
pub(super) fn is_due(size: usize) -> bool {
    let me = thread_pointer();
    !passes(size) && Countdown::of(me).draw(me, size)
}

impl Countdown {
    /// Returns the countdown of a thread.
    #[inline(always)]
    fn of(me: usize) -> &'static Self {
        let place = me.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (usize::BITS - SLOTS.trailing_zeros());
        &COUNTDOWNS[place & (SLOTS - 1)]
    }

    /// Draws the next sample point. Returns whether the one before was on the block.
    fn draw(&self, me: usize, size: usize) -> bool {
        let mean = mean();
        if mean == 0 {
            // Looks again from time to time, if nobody resets the slots.
            self.left.store(i64::MAX, Relaxed);
            self.owner.store(me, Relaxed);
            return false;
        }
        let mut left = byte_sampler::gap(random_bits(), mean) as i64;
        let mut is_due = true;
        if self.owner.load(Relaxed) != me {
            left = left.wrapping_sub_unsigned(size as u64);
            is_due = left <= 0;
            if is_due {
                left = byte_sampler::gap(random_bits(), mean) as i64;
            }
        }
        self.left.store(left, Relaxed);
        self.owner.store(me, Relaxed);
        is_due
    }
}

/// Returns random bits. If two threads ask at once, both may get the same.
pub(super) fn random_bits() -> u64 {
    let before = BITS.load(Relaxed);
    let bits = rng::after(if before == 0 { clock::monotonic_ns() | 1 } else { before });
    BITS.store(bits, Relaxed);
    bits ^ (thread_pointer() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
