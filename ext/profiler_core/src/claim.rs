//! A number that the system can allocate again after it was deleted, as the kernel does with the ids of
//! timers.
//!
//! Several threads may want to use the number and to delete it. A thread that uses a number while another one
//! deletes it may hit something else with the same number. So it is only used under a claim, and is deleted
//! once, by whoever took it out. The states are:
//!
//! * 0: there is no number.
//! * the number plus one: whoever swaps it out deletes it.
//! * the same with [`CLAIMED`]: whoever claimed it uses it. Others swap it out all the same, and do not wait;
//!   the claimant then finds it gone, and deletes it. Until then the system cannot reuse the number, so the
//!   same word cannot come back.

use ::core::prelude::rust_2021::*;

use crate::sync::{AtomicU64, Ordering};

const CLAIMED: u64 = 1 << 63;

/// A number that threads claim to use. All functions but [`Claimable::put`] and [`Claimable::forget`] may run
/// concurrently on several threads.
#[derive(Debug)]
pub struct Claimable(AtomicU64);

impl Claimable {
    /// Creates an empty place.
    #[cfg(not(loom))]
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Creates an empty place.
    #[cfg(loom)]
    #[must_use]
    pub fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Returns whether there is a number, claimed or not.
    #[inline]
    pub fn is_there(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// Puts a number in, which must be below 2^63 - 1. The place must be empty, and nobody else may put a
    /// number in at the same time.
    pub fn put(&self, number: u64) {
        // Release pairs with the Acquire in `claim` and `take`.
        self.0.store(number + 1, Ordering::Release);
    }

    /// Takes the number out for the caller to delete. Returns `None` if there is none, or if it is claimed:
    /// then the claimant deletes it.
    #[must_use]
    pub fn take(&self) -> Option<u64> {
        let word = self.0.swap(0, Ordering::AcqRel);
        if word & CLAIMED == 0 {
            word.checked_sub(1)
        } else {
            None
        }
    }

    /// Forgets the number, as it is gone already.
    pub fn forget(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Claims the number for the caller to use. Returns `None` if there is none, or somebody else has claimed
    /// it.
    pub fn claim(&self) -> Option<Claim<'_>> {
        let word = self.0.load(Ordering::Acquire);
        let free = word != 0 && word & CLAIMED == 0;
        let swap = || self.0.compare_exchange(word, word | CLAIMED, Ordering::AcqRel, Ordering::Relaxed);
        (free && swap().is_ok()).then_some(Claim { claimable: self, word })
    }
}

impl Default for Claimable {
    fn default() -> Self {
        Self::new()
    }
}

/// The right to use a number, until [`Claim::release`].
#[derive(Debug)]
#[must_use = "the number stays claimed for ever"]
pub struct Claim<'a> {
    claimable: &'a Claimable,
    word: u64,
}

impl Claim<'_> {
    /// Returns the number.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.word - 1
    }

    /// Puts the number back. Returns it if it was taken out meanwhile; then the caller has to delete it.
    #[must_use]
    pub fn release(self) -> Option<u64> {
        let claimed = self.word | CLAIMED;
        let was_taken = self
            .claimable
            .0
            .compare_exchange(claimed, self.word, Ordering::AcqRel, Ordering::Relaxed)
            .is_err();
        was_taken.then_some(self.number())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use ::core::assert_eq;

    use super::*;

    #[test]
    fn a_number_is_taken_out_once() {
        let timer = Claimable::new();
        assert!(!timer.is_there() && timer.take().is_none() && timer.claim().is_none());
        timer.put(0);
        assert!(timer.is_there());
        assert_eq!((timer.take(), timer.take()), (Some(0), None));
    }

    #[test]
    fn a_claim_is_exclusive_and_can_be_released() {
        let timer = Claimable::new();
        timer.put(7);
        let claim = timer.claim().unwrap();
        assert_eq!(claim.number(), 7);
        assert!(timer.is_there() && timer.claim().is_none());
        assert_eq!(claim.release(), None);
        assert_eq!(timer.take(), Some(7));
    }

    #[test]
    fn the_claimant_deletes_a_number_taken_meanwhile() {
        let timer = Claimable::new();
        timer.put(7);
        let claim = timer.claim().unwrap();
        assert_eq!(timer.take(), None);
        timer.put(8); // the number of the next life
        assert_eq!(claim.release(), Some(7));
        assert_eq!(timer.take(), Some(8));
    }
}
