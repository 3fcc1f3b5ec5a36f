//! A bounded ring between the producers of records and their one consumer.
//!
//! The ring has many producers, one consumer, and records of any length. A producer may be a signal handler
//! that interrupted another producer on the same thread. So no path waits for anybody: a push either finds
//! space or returns [`Full`]. The words are atomics, so nothing here is `unsafe`: a caller that breaks the
//! rules gets a wrong number at worst.
//!
//! A record is a head, which holds the length of the record in words (head included), followed by its
//! payload. A head of zero means "claimed, not yet published" or "never used", and the consumer stops there.
//! Because a head can come to lie on any word, the consumer leaves zeros behind.
//!
//! `claimed` and `consumed` count words since the beginning and never wrap in practice: 2^64 words at 1 GB/s
//! are over 4,000 years. The place of a word in the ring is its count modulo the capacity.

use ::core::prelude::rust_2021::*;
use ::std::boxed::Box;
use ::std::vec::Vec;

use crate::sync::{AtomicU64, Ordering};

/// The error of a full ring: there was no space for the record, so nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// A bounded ring of records.
#[derive(Debug)]
pub struct Ring {
    words: Box<[AtomicU64]>,
    /// The number of words claimed by producers.
    claimed: AtomicU64,
    /// The number of words released by the consumer.
    consumed: AtomicU64,
}

/// The space of one record, which is filled word by word. Words that are not written stay zero.
#[derive(Debug)]
pub struct Slot<'ring> {
    ring: &'ring Ring,
    next: u64,
    end: u64,
}

impl Ring {
    /// Creates a ring of `capacity` words of 8 bytes, rounded up to a power of two.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        let words = capacity.next_power_of_two();
        Self {
            words: (0..words).map(|_| AtomicU64::new(0)).collect(),
            claimed: AtomicU64::new(0),
            consumed: AtomicU64::new(0),
        }
    }

    /// Returns the capacity in words, heads included.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.words.len()
    }

    /// Returns the number of words that are claimed and not yet consumed.
    #[must_use]
    pub fn fill(&self) -> usize {
        let consumed = self.consumed.load(Ordering::Relaxed);
        let claimed = self.claimed.load(Ordering::Relaxed);
        claimed.saturating_sub(consumed) as usize
    }

    /// Claims space for a payload of `len` words, calls `fill` to write it, and publishes it.
    ///
    /// # Signal safety
    /// Runs on any thread, also inside a handler that interrupted this very function. Never waits: the loop
    /// repeats only if another producer has just claimed its space.
    ///
    /// # Errors
    /// Returns [`Full`] if the payload and its head do not fit.
    #[inline]
    pub fn try_push(&self, len: usize, fill: impl FnOnce(&mut Slot<'_>)) -> Result<(), Full> {
        let need = len as u64 + 1;
        let mut at = self.claimed.load(Ordering::Relaxed);
        loop {
            // Acquire pairs with the Release in `pop`: the zeros that it left are visible before we overwrite
            // them.
            let consumed = self.consumed.load(Ordering::Acquire);
            // `consumed` can be ahead of a stale `at`. Then there is space, and the exchange fails.
            if (at + need).saturating_sub(consumed) > self.words.len() as u64 {
                return Err(Full);
            }
            match self.claimed.compare_exchange_weak(at, at + need, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => at = now,
            }
        }
        let mut slot = Slot { ring: self, next: at + 1, end: at + need };
        fill(&mut slot);
        // Release pairs with the Acquire in `peek`: whoever sees the head also sees the payload.
        self.word(at).store(need, Ordering::Release);
        Ok(())
    }

    /// Moves the oldest record into `scratch`, replacing its content. Returns false if no record is
    /// published.
    ///
    /// Only one thread at a time may consume.
    pub fn pop(&self, scratch: &mut Vec<u64>) -> bool {
        let at = self.consumed.load(Ordering::Relaxed);
        let Some(next) = self.peek(at, scratch) else { return false };
        for piece in self.pieces(at, next) {
            piece.iter().for_each(|word| word.store(0, Ordering::Relaxed));
        }
        // Release pairs with the Acquire in `try_push`.
        self.consumed.store(next, Ordering::Release);
        true
    }

    /// Discards all records, including those that were claimed and will never be published. Call this only
    /// where nobody can be pushing: in a forked child, whose producers stayed in the parent.
    pub fn forget(&self) {
        let claimed = self.claimed.load(Ordering::Relaxed);
        for place in self.consumed.load(Ordering::Relaxed)..claimed {
            self.word(place).store(0, Ordering::Relaxed);
        }
        self.consumed.store(claimed, Ordering::Release);
    }

    /// Returns the position of the oldest record, which is the first argument for [`Ring::peek`].
    #[must_use]
    pub fn oldest(&self) -> u64 {
        self.consumed.load(Ordering::Relaxed)
    }

    /// Returns the position after the newest record, published or not. Once [`Ring::oldest`] reaches it,
    /// everything that was claimed before this call has been consumed.
    #[must_use]
    pub fn newest(&self) -> u64 {
        self.claimed.load(Ordering::Relaxed)
    }

    /// Copies the record at `at` into `scratch` without consuming it. Returns the position of the next
    /// record, or `None` if the one at `at` is not published.
    ///
    /// Only the consumer may call this, with [`Ring::oldest`] or a position that this function returned.
    pub fn peek(&self, at: u64, scratch: &mut Vec<u64>) -> Option<u64> {
        // After a full round, the place of `at` holds the oldest record again.
        if at - self.consumed.load(Ordering::Relaxed) >= self.words.len() as u64 {
            return None;
        }
        // Acquire pairs with the Release in `try_push`.
        let len = self.word(at).load(Ordering::Acquire);
        if len == 0 {
            return None;
        }
        scratch.clear();
        for piece in self.pieces(at + 1, at + len) {
            scratch.extend(piece.iter().map(|word| word.load(Ordering::Relaxed)));
        }
        Some(at + len)
    }

    /// Returns the words from `begin` up to but excluding `end`, in order: one piece of the ring, or two if
    /// they wrap around its end.
    fn pieces(&self, begin: u64, end: u64) -> [&[AtomicU64]; 2] {
        let first = begin as usize & (self.words.len() - 1);
        let (len, space) = ((end - begin) as usize, self.words.len() - first);
        let piece = |range: ::core::ops::Range<usize>| self.words.get(range).unwrap_or(&[]);
        [piece(first..first + len.min(space)), piece(0..len.saturating_sub(space))]
    }

    #[inline]
    #[allow(clippy::indexing_slicing)] // the mask keeps it inside
    fn word(&self, count: u64) -> &AtomicU64 {
        &self.words[count as usize & (self.words.len() - 1)]
    }
}

impl Slot<'_> {
    /// Writes the next word. A word that does not fit is left out.
    #[inline]
    pub fn write(&mut self, word: u64) {
        if self.next < self.end {
            self.ring.word(self.next).store(word, Ordering::Relaxed);
            self.next += 1;
        }
    }

    /// Writes as many of the words as fit. Faster than writing them one by one: the space is one or two
    /// pieces of the ring, and within a piece there is nothing to check.
    #[inline]
    pub fn extend(&mut self, mut words: impl ExactSizeIterator<Item = u64>) {
        while words.len() > 0 && self.next < self.end {
            let place = self.next as usize & (self.ring.words.len() - 1);
            let space = self.ring.words.get(place..).unwrap_or(&[]);
            let fits = space.len().min(words.len()).min((self.end - self.next) as usize);
            // The words of the ring come first in the zip, so that the iterator loses no word when they run
            // out.
            space
                .iter()
                .take(fits)
                .zip(words.by_ref())
                .for_each(|(to, word)| to.store(word, Ordering::Relaxed));
            self.next += fits as u64;
        }
    }
}
