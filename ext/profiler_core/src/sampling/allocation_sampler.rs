//! The sampler of allocations, which picks one object at random from every window of consecutive objects.
//!
//! Every object has the same chance, whatever the rhythm in which the program allocates, as each window draws
//! its own random object. Each window has exactly one sample, so a sum varies less than with independent gaps
//! of the same mean, never more. And the weight of a sample is known: the window.
//!
//! Objects are numbered from 1. All counted objects are attributed, at the latest by
//! [`AllocationSampler::close_window`].
//!
//! Windows of bytes work the same way: bytes are numbered, and the object that contains the due byte is
//! sampled. So a larger object is sampled more often; one that is larger than a window can be due twice.
//!
//! The alternative was independent geometric gaps. With both methods, each object has the same chance, and
//! two objects of different windows are sampled independently of each other, so no cycle can fall into step.
//! But a window never has two samples and never none. So the variance of a sum comes only from independent
//! samples within each window. It is never above that of geometric gaps, and far below it where a program has
//! phases. Sums are exact by construction, not only on average.

use ::core::prelude::rust_2021::*;

use crate::rng;

/// The size of a sampling window: the mean distance between samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// A number of objects.
    Objects(u64),
    /// A number of bytes of the objects' slots.
    Bytes(u64),
}

impl Window {
    /// Returns the size, in objects or bytes.
    #[must_use]
    pub fn size(self) -> u64 {
        let (Self::Objects(size) | Self::Bytes(size)) = self;
        size
    }

    /// Returns a window that suits two sessions: neither gets fewer samples than requested. No slot is larger
    /// than `largest` bytes.
    #[must_use]
    pub fn finest(self, other: Self, largest: u64) -> Self {
        match (self, other) {
            (Self::Objects(one), Self::Objects(other)) => Self::Objects(one.min(other)),
            (Self::Bytes(one), Self::Bytes(other)) => Self::Bytes(one.min(other)),
            (Self::Objects(objects), Self::Bytes(bytes)) | (Self::Bytes(bytes), Self::Objects(objects)) => {
                Self::Objects(objects.min(bytes / largest).max(1))
            }
        }
    }
}

/// The start of the random numbers: any number but 0.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// A sampler that picks one object of every window.
#[derive(Debug)]
pub struct AllocationSampler {
    window: u64,
    /// The number of objects before the window of the next sample.
    begins: u64,
    /// The number of the object to sample next.
    due: u64,
    /// The number of objects that have been attributed.
    attributed: u64,
    bits: u64,
}

impl AllocationSampler {
    /// A sampler that has counted no objects. Its first window begins with
    /// [`AllocationSampler::close_window`]. It is all zeros, so that a static with it takes no space in the
    /// library's file.
    pub const IDLE: Self = Self { window: 0, begins: 0, due: 0, attributed: 0, bits: 0 };

    /// Returns the size of a window.
    #[must_use]
    pub fn window(&self) -> u64 {
        self.window
    }

    /// Returns the number of the object to sample next.
    #[inline]
    #[must_use]
    pub fn due(&self) -> u64 {
        self.due
    }

    /// Advances to the next window because the due object has arrived. Returns the weight of the previous
    /// sample, or 0 if there was none.
    #[inline]
    pub fn next_sample(&mut self) -> u64 {
        let weight = self.begins - self.attributed;
        self.attributed = self.begins;
        self.begins += self.window;
        self.draw();
        weight
    }

    /// Closes the window at `now` counted objects and begins windows of the size `window`. Returns the weight
    /// of the last sample, which belongs to no object if there was no sample since the last call.
    pub fn close_window(&mut self, now: u64, window: u64) -> u64 {
        let weight = now.saturating_sub(self.attributed);
        self.window = window.max(1);
        if self.bits == 0 {
            self.bits = SEED;
        }
        (self.begins, self.attributed) = (now, now);
        self.draw();
        weight
    }

    #[inline]
    fn draw(&mut self) {
        let offset = if self.window == 1 {
            0
        } else {
            self.bits = rng::after(self.bits);
            // The high half of a product is even enough, as a window is far below 2^32.
            ((self.bits >> 32) * self.window) >> 32
        };
        self.due = self.begins + 1 + offset;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use ::std::{assert, assert_eq, vec, vec::Vec};

    fn seeded(seed: u64) -> AllocationSampler {
        AllocationSampler { bits: seed | 1, ..AllocationSampler::IDLE }
    }

    /// Returns the weight of each object of a cycle when this number of objects is allocated, and the sum.
    fn sample_cycle(every: u64, cycle: usize, objects: u64, seed: u64) -> (Vec<u64>, u64) {
        let mut sampler = seeded(seed);
        sampler.close_window(0, every);
        let mut sums = vec![0; cycle];
        let mut last = None;
        for number in 1..=objects {
            if number == sampler.due() {
                let before = sampler.next_sample();
                if let Some(place) = last.replace(number as usize % cycle) {
                    sums[place] += before;
                } else {
                    assert_eq!(before, 0);
                }
            }
        }
        let rest = sampler.close_window(objects, every);
        if let Some(place) = last {
            sums[place] += rest;
        }
        let sum = sums.iter().sum::<u64>() + if last.is_none() { rest } else { 0 };
        (sums, sum)
    }

    #[test]
    fn every_counted_object_is_attributed() {
        for every in [1, 2, 7, 100, 1_000, 10_000] {
            for objects in [0, 1, 99, 1_000, 12_345] {
                assert_eq!(
                    sample_cycle(every, 3, objects, 7 * every + objects).1,
                    objects,
                    "{every} {objects}"
                );
            }
        }
    }

    #[test]
    fn a_window_of_one_samples_every_object() {
        assert_eq!(sample_cycle(1, 4, 4_000, 1).0, [1_000; 4]);
    }

    #[test]
    fn cyclic_allocations_are_sampled_without_bias() {
        let objects = 4_000_000;
        for (every, cycle) in [(100, 100), (100, 50), (600, 9), (64, 64), (1_000, 999), (100, 2)] {
            for seed in 1..=5 {
                let (sums, _) = sample_cycle(every, cycle, objects, seed << 20);
                let (share, samples) = (1.0 / cycle as f64, objects as f64 / every as f64);
                // The limit is at most that of as many independent samples: five standard deviations, as
                // there are thousands of shares.
                let limit = 5.0 * (share * (1.0 - share) / samples).sqrt();
                for sum in sums {
                    let off = (sum as f64 / objects as f64 - share).abs();
                    assert!(off < limit, "every {every}, cycle {cycle}, seed {seed}: {off} of {limit}");
                }
            }
        }
    }

    #[test]
    fn bytes_are_attributed_in_proportion_to_size() {
        let sizes = [40u64, 40, 80, 640, 160, 40, 320];
        for every in [1_024, 4_096, 10_000] {
            let mut sampler = seeded(every << 9);
            sampler.close_window(0, every);
            let (mut sums, mut last, mut now) = (vec![0; sizes.len()], None::<usize>, 0);
            for number in 0..2_000_000 {
                let place = number % sizes.len();
                now += sizes[place];
                while sampler.due() <= now {
                    let before = sampler.next_sample();
                    if let Some(last) = last.replace(place) {
                        sums[last] += before;
                    }
                }
            }
            sums[last.unwrap_or(0)] += sampler.close_window(now, every);
            assert_eq!(sums.iter().sum::<u64>(), now);
            for (sum, size) in sums.iter().zip(sizes) {
                let share = size as f64 / sizes.iter().sum::<u64>() as f64;
                let limit = 5.0 * (share * (1.0 - share) / (now as f64 / every as f64)).sqrt();
                let off = (*sum as f64 / now as f64 - share).abs();
                assert!(off < limit, "every {every}, size {size}: {off} of {limit}");
            }
        }
    }

    #[test]
    fn sharing_samples_costs_no_session_any() {
        use Window::{Bytes, Objects};
        assert_eq!(Objects(7).finest(Objects(5), 640), Objects(5));
        assert_eq!(Bytes(7_000).finest(Bytes(9_000), 640), Bytes(7_000));
        assert_eq!(Bytes(64_000).finest(Objects(1_000), 640), Objects(100));
        assert_eq!(Objects(10).finest(Bytes(64_000), 640), Objects(10));
        assert_eq!(Objects(10).finest(Bytes(500), 640), Objects(1));
    }

    #[test]
    fn variance_is_below_that_of_independent_samples() {
        // Phases that are ten windows long, half and half.
        let (every, objects, phase) = (100, 200_000, 1_000);
        let mut squares = 0.0;
        for seed in 1..=200u64 {
            let mut sampler = seeded(seed << 17);
            sampler.close_window(0, every);
            let (mut sum, mut last) = (0, None);
            for number in 1..=objects {
                if number == sampler.due() {
                    let before = sampler.next_sample();
                    if last.replace((number - 1) / phase % 2) == Some(0) {
                        sum += before;
                    }
                }
            }
            squares += (sum as f64 / objects as f64 - 0.5).powi(2) / 200.0;
        }
        let independent = 0.25 / (objects as f64 / every as f64);
        assert!(squares < independent / 4.0, "{squares} of {independent}");
    }
}
