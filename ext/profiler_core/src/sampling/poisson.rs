//! A clock that is measured where its segments end, with the decision which of these segments is sampled.
//!
//! Thresholds lie on it as Poisson arrivals, the interval apart on average and in no rhythm. A segment is sampled if a
//! threshold lies in it, whatever the rhythm of the program. The weight of a sample ends at the last of its thresholds;
//! the time after that is for the next sample. So the segments of one stack get, on average, as much as they are long,
//! and all is attributed. (If the sample at hand got the rest of a long segment, the short one after it would lack that
//! time. With segments of 5 ms and 0.3 ms in turn, at 1 ms, the short ones got a quarter of their share.)
//!
//! Thresholds at fixed distances would fall into step with a program: two waits of 0.6 ms in turn got 0 and 100 % at 1
//! ms.

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::rng;

/// A sampled clock. Written by one thread at a time.
#[derive(Debug)]
pub(crate) struct PoissonSampler {
    ns: AtomicU64,
    /// The next threshold.
    threshold_ns: AtomicU64,
    /// The last threshold of the last sample.
    attributed_ns: AtomicU64,
}

impl PoissonSampler {
    pub(crate) const fn new() -> Self {
        Self { ns: AtomicU64::new(0), threshold_ns: AtomicU64::new(0), attributed_ns: AtomicU64::new(0) }
    }

    pub(crate) fn reset(&self) {
        self.ns.store(0, Relaxed);
        self.attributed_ns.store(0, Relaxed);
    }

    /// The reading of the clock.
    #[inline]
    pub(crate) fn ns(&self) -> u64 {
        self.ns.load(Relaxed)
    }

    /// The reading up to which samples account for the clock.
    #[inline]
    pub(crate) fn attributed_ns(&self) -> u64 {
        self.attributed_ns.load(Relaxed)
    }

    /// Moves the clock without a sample.
    pub(crate) fn set(&self, ns: u64) {
        self.ns.store(ns, Relaxed);
    }

    /// Ends a segment, which brings the clock to `ns`. True when that segment is to be sampled.
    #[inline]
    pub(crate) fn end_segment(&self, ns: u64, intervals: &Intervals) -> bool {
        self.set(ns);
        let first_ns = self.threshold_ns.load(Relaxed);
        if ns < first_ns {
            return false;
        }
        // Seen from here the thresholds lie as far apart as in the other direction: no need to go through them all.
        self.attributed_ns.store(first_ns.max(ns.saturating_sub(intervals.draw_ns())), Relaxed);
        self.draw(intervals);
        true
    }

    /// Draws the next threshold.
    pub(crate) fn draw(&self, intervals: &Intervals) {
        self.threshold_ns.store(self.ns() + intervals.draw_ns(), Relaxed);
    }
}

/// Random intervals between thresholds.
#[derive(Debug)]
pub(crate) struct Intervals {
    mean_ns: AtomicU64,
    bits: AtomicU64,
}

impl Intervals {
    pub(crate) const fn new() -> Self {
        Self { mean_ns: AtomicU64::new(0), bits: AtomicU64::new(0) }
    }

    /// Sets their mean. True when it was another.
    pub(crate) fn set_mean(&self, mean_ns: u64) -> bool {
        self.mean_ns.swap(mean_ns, Relaxed) != mean_ns
    }

    #[inline]
    fn draw_ns(&self) -> u64 {
        let mut bits = self.bits.load(Relaxed);
        if bits == 0 {
            // A seed of its own for each, from where it lies.
            bits = (::core::ptr::from_ref(self) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        }
        bits = rng::after(bits);
        self.bits.store(bits, Relaxed);
        rng::exponential_ns(bits, self.mean_ns.load(Relaxed))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use ::std::assert;

    /// The weights of two segments in turn, as shares of the whole, over some 40,000 thresholds.
    fn shares(segments_ns: [u64; 2]) -> [f64; 2] {
        let (clock, intervals) = (PoissonSampler::new(), Intervals::new());
        intervals.set_mean(1_000_000);
        clock.draw(&intervals);
        let (mut weights_ns, mut before_ns) = ([0u64; 2], 0);
        for turn in 0..80_000_000_000 / (segments_ns[0] + segments_ns[1]) as usize {
            if clock.end_segment(clock.ns() + segments_ns[turn % 2], &intervals) {
                weights_ns[turn % 2] += clock.attributed_ns() - before_ns;
                before_ns = clock.attributed_ns();
            }
        }
        weights_ns.map(|it| it as f64 / clock.ns() as f64)
    }

    #[test]
    fn segments_weigh_in_proportion_to_their_length() {
        for segments_ns in
            [[600_000, 600_000], [5_000_000, 300_000], [20_000, 80_000], [40_000_000, 1_000_000]]
        {
            let [first, second] = shares(segments_ns);
            let expected = segments_ns[0] as f64 / (segments_ns[0] + segments_ns[1]) as f64;
            // The standard deviation is at most 0.0035.
            assert!((first - expected).abs() < 0.02, "{segments_ns:?}: {first} of {expected}");
            assert!(first + second > 0.99, "{segments_ns:?}: all but the last is attributed");
        }
    }
}
