//! A clock that is measured where its segments end, and the decision which of these segments are sampled.
//!
//! A segment whose length far exceeds the overhead of a record is always sampled, and its sample weighs
//! exactly as many nanoseconds as it lasted. Shorter segments are sampled at random: thresholds lie on their
//! part of the clock as Poisson arrivals, the interval apart on average and in no rhythm, and a segment is
//! sampled if a threshold lies in it.
//!
//! The weight of a random sample ends at the last of its thresholds; the time after that is for the next
//! sample. So the segments of one stack get, on average, as much as they are long, and all time is
//! attributed. (If the current sample got the rest of a longer segment, the short one after it would lack
//! that time. With alternating segments of 0.8 ms and 0.1 ms, at 1 ms, the short ones got a fraction of their
//! share.)
//!
//! Thresholds at fixed distances would fall into step with a program: two alternating waits of 0.6 ms got 0
//! and 100 % at 1 ms.

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::rng;

/// The interval of a wall clock whose waits are not to be sampled, ns: 100 days.
pub const UNSAMPLED_NS: u64 = 1 << 53;
/// The length from which a segment is always sampled, ns. The overhead of a record is a thousandth of that.
/// With intervals of more than [`WIDE_NS`], which the governor may set, the length is a tenth of the
/// interval.
const WHOLE_NS: u64 = 1_000_000;
const WIDE_NS: u64 = 10 * WHOLE_NS;

/// A sampled clock. Written by one thread at a time.
#[derive(Debug)]
pub(crate) struct PoissonSampler {
    ns: AtomicU64,
    /// The part of the clock that belongs to segments which were sampled for their length.
    whole_ns: AtomicU64,
    /// The next threshold, on the rest of the clock.
    threshold_ns: AtomicU64,
    /// The last threshold of the last random sample, on the rest of the clock.
    attributed_ns: AtomicU64,
}

impl PoissonSampler {
    pub(crate) const fn new() -> Self {
        Self {
            ns: AtomicU64::new(0),
            whole_ns: AtomicU64::new(0),
            threshold_ns: AtomicU64::new(0),
            attributed_ns: AtomicU64::new(0),
        }
    }

    pub(crate) fn reset(&self) {
        for clock in [&self.ns, &self.whole_ns, &self.attributed_ns] {
            clock.store(0, Relaxed);
        }
    }

    /// Returns the reading of the clock.
    #[inline]
    pub(crate) fn ns(&self) -> u64 {
        self.ns.load(Relaxed)
    }

    /// Returns the reading up to which samples account for the clock.
    #[inline]
    pub(crate) fn attributed_ns(&self) -> u64 {
        self.whole_ns.load(Relaxed) + self.attributed_ns.load(Relaxed)
    }

    /// Advances the clock without a sample.
    pub(crate) fn set(&self, ns: u64) {
        self.ns.store(ns, Relaxed);
    }

    /// Ends a segment, which brings the clock to `ns`. Returns true if the segment should be sampled.
    #[inline]
    pub(crate) fn end_segment(&self, ns: u64, intervals: &Intervals) -> bool {
        let length_ns = ns.saturating_sub(self.ns());
        self.set(ns);
        if length_ns >= intervals.whole_ns() {
            self.whole_ns.store(self.whole_ns.load(Relaxed) + length_ns, Relaxed);
            return true;
        }
        let short_ns = self.short_ns();
        let first_ns = self.threshold_ns.load(Relaxed);
        if short_ns < first_ns {
            return false;
        }
        // Looking back from here, the thresholds are as far apart as in the other direction, so there is no
        // need to go through all of them.
        self.attributed_ns.store(first_ns.max(short_ns.saturating_sub(intervals.draw_ns())), Relaxed);
        self.draw(intervals);
        true
    }

    /// Draws the next threshold.
    pub(crate) fn draw(&self, intervals: &Intervals) {
        self.threshold_ns.store(self.short_ns() + intervals.draw_ns(), Relaxed);
    }

    /// Returns the part of the clock that is sampled at random.
    fn short_ns(&self) -> u64 {
        self.ns().saturating_sub(self.whole_ns.load(Relaxed))
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

    /// Sets the mean. Returns true if it has changed.
    pub(crate) fn set_mean(&self, mean_ns: u64) -> bool {
        self.mean_ns.swap(mean_ns, Relaxed) != mean_ns
    }

    /// Returns the length from which a segment is always sampled, ns. If none should be sampled, no segment
    /// is that long.
    #[inline]
    fn whole_ns(&self) -> u64 {
        match self.mean_ns.load(Relaxed) {
            UNSAMPLED_NS.. => u64::MAX,
            mean_ns if mean_ns > WIDE_NS => mean_ns / 10,
            _ => WHOLE_NS,
        }
    }

    #[inline]
    fn draw_ns(&self) -> u64 {
        let mut bits = self.bits.load(Relaxed);
        if bits == 0 {
            // Each clock gets a seed of its own, from its address.
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
    use ::std::vec::Vec;
    use ::std::{assert, assert_eq};

    /// Returns the weights of two alternating segments, as shares of the whole, over about 40,000 thresholds.
    fn shares(segments_ns: [u64; 2], mean_ns: u64) -> [f64; 2] {
        let (clock, intervals) = (PoissonSampler::new(), Intervals::new());
        intervals.set_mean(mean_ns);
        clock.draw(&intervals);
        let (mut weights_ns, mut before_ns) = ([0u64; 2], 0);
        for turn in 0..(80_000 * mean_ns / (segments_ns[0] + segments_ns[1])) as usize {
            if clock.end_segment(clock.ns() + segments_ns[turn % 2], &intervals) {
                weights_ns[turn % 2] += clock.attributed_ns() - before_ns;
                before_ns = clock.attributed_ns();
            }
        }
        weights_ns.map(|it| it as f64 / clock.ns() as f64)
    }

    #[test]
    fn short_segments_weigh_in_proportion_to_their_length() {
        for segments_ns in [[600_000, 600_000], [900_000, 90_000], [20_000, 80_000], [5_000_000, 300_000]] {
            let [first, second] = shares(segments_ns, 1_000_000);
            let expected = segments_ns[0] as f64 / (segments_ns[0] + segments_ns[1]) as f64;
            // The standard deviation is at most 0.0035.
            assert!((first - expected).abs() < 0.02, "{segments_ns:?}: {first} of {expected}");
            assert!(first + second > 0.99, "{segments_ns:?}: all but the last is attributed");
        }
    }

    #[test]
    fn long_segments_weigh_what_they_are_long() {
        for mean_ns in [50_000, 1_000_000, 10_000_000] {
            let (clock, intervals) = (PoissonSampler::new(), Intervals::new());
            intervals.set_mean(mean_ns);
            clock.draw(&intervals);
            let mut weights_ns = Vec::new();
            let mut before_ns = 0;
            for length_ns in [40_000_000, 900, 98_000_000, 1_000_000, 900, 10_000_000] {
                if clock.end_segment(clock.ns() + length_ns, &intervals) && length_ns > 900 {
                    weights_ns.push(clock.attributed_ns() - before_ns);
                }
                before_ns = clock.attributed_ns();
            }
            assert_eq!(weights_ns, [40_000_000, 98_000_000, 1_000_000, 10_000_000], "{mean_ns}");
        }
    }

    #[test]
    fn what_is_long_follows_a_wide_interval_and_nothing_is_where_nothing_is_sampled() {
        let intervals = Intervals::new();
        let whole_ns = [1_000, 10_000_000, 50_000_000, UNSAMPLED_NS].map(|mean_ns| {
            let _ = intervals.set_mean(mean_ns);
            intervals.whole_ns()
        });
        assert_eq!(whole_ns, [WHOLE_NS, WHOLE_NS, 5_000_000, u64::MAX]);
    }
}
