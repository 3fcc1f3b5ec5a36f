//! A clock that is measured where its parts end, and at which of these ends a record is due.
//!
//! Points lie on it at random, as far apart on average as the interval and in no rhythm: a part is recorded if a point
//! lies in it, whatever the rhythm of the program. The record stands for the time up to the last of its points, and
//! what comes after that point is for the next record. So the parts of one stack are given, on average, as much as
//! they are long, and all is given to somebody. (Given to the record in hand, the rest of a long part would be
//! missing to the short one after it: of 5 ms and 0.3 ms in turn at 1 ms the short one got a quarter of its share.)

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::rng;

/// See the module. Written by one thread at a time.
#[derive(Debug)]
pub(crate) struct Meter {
    ns: AtomicU64,
    /// Where the next point lies.
    due_ns: AtomicU64,
    /// Where the last point of the last record lay.
    given_ns: AtomicU64,
}

impl Meter {
    pub(crate) const fn new() -> Self {
        Self { ns: AtomicU64::new(0), due_ns: AtomicU64::new(0), given_ns: AtomicU64::new(0) }
    }

    pub(crate) fn reset(&self) {
        self.ns.store(0, Relaxed);
        self.given_ns.store(0, Relaxed);
    }

    /// Where it stands.
    #[inline]
    pub(crate) fn ns(&self) -> u64 {
        self.ns.load(Relaxed)
    }

    /// What its last record stands for, ns.
    #[inline]
    pub(crate) fn given_ns(&self) -> u64 {
        self.given_ns.load(Relaxed)
    }

    /// Moves it without a record.
    pub(crate) fn set(&self, ns: u64) {
        self.ns.store(ns, Relaxed);
    }

    /// A part has ended, which brings it to `ns`. True when that part is to be recorded.
    #[inline]
    pub(crate) fn end_part(&self, ns: u64, gaps: &Gaps) -> bool {
        self.set(ns);
        let first_ns = self.due_ns.load(Relaxed);
        if ns < first_ns {
            return false;
        }
        // Seen from here the points lie as far apart as in the other direction: no need to go through them all.
        self.given_ns.store(first_ns.max(ns.saturating_sub(gaps.draw_ns())), Relaxed);
        self.draw(gaps);
        true
    }

    /// Draws the next point.
    pub(crate) fn draw(&self, gaps: &Gaps) {
        self.due_ns.store(self.ns() + gaps.draw_ns(), Relaxed);
    }
}

/// Random distances between points.
#[derive(Debug)]
pub(crate) struct Gaps {
    mean_ns: AtomicU64,
    bits: AtomicU64,
}

impl Gaps {
    pub(crate) const fn new() -> Self {
        Self { mean_ns: AtomicU64::new(0), bits: AtomicU64::new(0) }
    }

    /// From now on they are `mean_ns` on average. True when they were not before.
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

    /// What is given to each of two parts in turn, as shares of the whole, over some 40,000 points.
    fn shares(parts_ns: [u64; 2]) -> [f64; 2] {
        let (meter, gaps) = (Meter::new(), Gaps::new());
        gaps.set_mean(1_000_000);
        meter.draw(&gaps);
        let (mut given_ns, mut before_ns) = ([0u64; 2], 0);
        for turn in 0..80_000_000_000 / (parts_ns[0] + parts_ns[1]) as usize {
            if meter.end_part(meter.ns() + parts_ns[turn % 2], &gaps) {
                given_ns[turn % 2] += meter.given_ns() - before_ns;
                before_ns = meter.given_ns();
            }
        }
        given_ns.map(|it| it as f64 / meter.ns() as f64)
    }

    #[test]
    fn parts_are_given_as_much_as_they_are_long() {
        for parts_ns in [[600_000, 600_000], [5_000_000, 300_000], [20_000, 80_000], [40_000_000, 1_000_000]]
        {
            let [first, second] = shares(parts_ns);
            let expected = parts_ns[0] as f64 / (parts_ns[0] + parts_ns[1]) as f64;
            // The standard deviation is at most 0.0035.
            assert!((first - expected).abs() < 0.02, "{parts_ns:?}: {first} of {expected}");
            assert!(first + second > 0.99, "{parts_ns:?}: all but the last is given");
        }
    }
}
