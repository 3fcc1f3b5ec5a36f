//! Which of the objects of a process to look at: one in each stretch of so many, at random.
//!
//! Every object has the same chance, whatever the rhythm in which the program makes them, as each stretch has its own
//! random place. Compared with independent gaps of the same mean that is as even as chance can be: no stretch has two
//! and none is left out, so a sum varies less, never more. And what a look stands for is known: the stretch.
//!
//! Objects are numbered from 1 on. All that were counted are given away, at the latest by [`Blocks::cut`].
//!
//! Stretches of so many bytes work the same way: bytes are numbered, and the object that has the one that is due is looked
//! at. So a larger one is looked at more often; one that is larger than a stretch can be due twice.

use ::core::prelude::rust_2021::*;

use crate::rng;

/// How far it is from one look to the next, on average.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// So many objects.
    Objects(u64),
    /// So many bytes of their slots.
    Bytes(u64),
}

impl Distance {
    /// Its number.
    #[must_use]
    pub fn number(self) -> u64 {
        let (Self::Objects(number) | Self::Bytes(number)) = self;
        number
    }

    /// One that suits who wants this and who wants `other`: neither gets fewer looks than asked for. No slot is larger than
    /// `largest` bytes.
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

/// See the module.
#[derive(Debug)]
pub struct Blocks {
    every: u64,
    /// Where the stretch begins in which the next look falls: so many objects are before it.
    begins: u64,
    /// The object to look at next.
    due: u64,
    /// So many objects have been given away.
    given: u64,
    bits: u64,
}

impl Blocks {
    /// Nothing counted. `seed` is any number.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { every: 1, begins: 0, due: 1, given: 0, bits: seed | 1 }
    }

    /// So many objects from one look to the next, on average.
    #[must_use]
    pub fn every(&self) -> u64 {
        self.every
    }

    /// The number of the object to look at next.
    #[inline]
    #[must_use]
    pub fn due(&self) -> u64 {
        self.due
    }

    /// The object is there that was due. Gives how many the look before it stands for (0 where there was none), and draws
    /// the next.
    #[inline]
    pub fn look(&mut self) -> u64 {
        let before = self.begins - self.given;
        self.given = self.begins;
        self.begins += self.every;
        self.draw();
        before
    }

    /// `now` have been counted, and the accounts are closed here: gives how many the last look stands for, or nobody
    /// where there was none since the last cut. From here on there is a look for each `every`.
    pub fn cut(&mut self, now: u64, every: u64) -> u64 {
        let before = now.saturating_sub(self.given);
        self.every = every.max(1);
        (self.begins, self.given) = (now, now);
        self.draw();
        before
    }

    #[inline]
    fn draw(&mut self) {
        let place = if self.every == 1 {
            0
        } else {
            self.bits = rng::after(self.bits);
            // The high half of a product is even enough: `every` is far below 2^32.
            ((self.bits >> 32) * self.every) >> 32
        };
        self.due = self.begins + 1 + place;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use ::std::{assert, assert_eq, vec, vec::Vec};

    /// What each place of a cycle is given, over that many objects, and the sum.
    fn given(every: u64, cycle: usize, objects: u64, seed: u64) -> (Vec<u64>, u64) {
        let mut blocks = Blocks::new(seed);
        blocks.cut(0, every);
        let mut sums = vec![0; cycle];
        let mut last = None;
        for number in 1..=objects {
            if number == blocks.due() {
                let before = blocks.look();
                if let Some(place) = last.replace(number as usize % cycle) {
                    sums[place] += before;
                } else {
                    assert_eq!(before, 0);
                }
            }
        }
        let rest = blocks.cut(objects, every);
        if let Some(place) = last {
            sums[place] += rest;
        }
        let sum = sums.iter().sum::<u64>() + if last.is_none() { rest } else { 0 };
        (sums, sum)
    }

    #[test]
    fn all_that_was_counted_is_given() {
        for every in [1, 2, 7, 100, 1_000, 10_000] {
            for objects in [0, 1, 99, 1_000, 12_345] {
                assert_eq!(given(every, 3, objects, 7 * every + objects).1, objects, "{every} {objects}");
            }
        }
    }

    #[test]
    fn at_distance_1_each_is_given_itself() {
        assert_eq!(given(1, 4, 4_000, 1).0, [1_000; 4]);
    }

    #[test]
    fn no_cycle_falls_into_step() {
        let objects = 4_000_000;
        for (every, cycle) in [(100, 100), (100, 50), (600, 9), (64, 64), (1_000, 999), (100, 2)] {
            for seed in 1..=5 {
                let (sums, _) = given(every, cycle, objects, seed << 20);
                let (share, looks) = (1.0 / cycle as f64, objects as f64 / every as f64);
                // At most that of as many independent looks; five of them, as there are thousands of shares.
                let limit = 5.0 * (share * (1.0 - share) / looks).sqrt();
                for sum in sums {
                    let off = (sum as f64 / objects as f64 - share).abs();
                    assert!(off < limit, "every {every}, cycle {cycle}, seed {seed}: {off} of {limit}");
                }
            }
        }
    }

    #[test]
    fn bytes_are_given_to_those_that_have_them() {
        let sizes = [40u64, 40, 80, 640, 160, 40, 320];
        for every in [1_024, 4_096, 10_000] {
            let mut blocks = Blocks::new(every << 9);
            blocks.cut(0, every);
            let (mut sums, mut last, mut now) = (vec![0; sizes.len()], None::<usize>, 0);
            for number in 0..2_000_000 {
                let place = number % sizes.len();
                now += sizes[place];
                while blocks.due() <= now {
                    let before = blocks.look();
                    if let Some(last) = last.replace(place) {
                        sums[last] += before;
                    }
                }
            }
            sums[last.unwrap_or(0)] += blocks.cut(now, every);
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
    fn who_shares_looks_gets_no_fewer() {
        use Distance::{Bytes, Objects};
        assert_eq!(Objects(7).finest(Objects(5), 640), Objects(5));
        assert_eq!(Bytes(7_000).finest(Bytes(9_000), 640), Bytes(7_000));
        assert_eq!(Bytes(64_000).finest(Objects(1_000), 640), Objects(100));
        assert_eq!(Objects(10).finest(Bytes(64_000), 640), Objects(10));
        assert_eq!(Objects(10).finest(Bytes(500), 640), Objects(1));
    }

    #[test]
    fn a_sum_varies_less_than_with_independent_looks() {
        // Phases ten stretches long, half and half.
        let (every, objects, phase) = (100, 200_000, 1_000);
        let mut squares = 0.0;
        for seed in 1..=200u64 {
            let mut blocks = Blocks::new(seed << 17);
            blocks.cut(0, every);
            let (mut sum, mut last) = (0, None);
            for number in 1..=objects {
                if number == blocks.due() {
                    let before = blocks.look();
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
