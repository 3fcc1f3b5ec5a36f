//! The span that a thread is in, stored where its handler reads it.

use std::sync::atomic::{
    fence, AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

use profiler_core::record::Span;

/// The span that a thread is in. A reader in the middle of a change finds none.
#[derive(Debug)]
pub(crate) struct CurrentSpan {
    /// The number of changes that began and ended: odd in the middle of one, 0 if there has never been a
    /// span.
    changes: AtomicU32,
    words: [AtomicU64; Span::WORDS],
}

impl CurrentSpan {
    /// Creates an empty value, without a span.
    pub(super) const fn new() -> Self {
        Self { changes: AtomicU32::new(0), words: [const { AtomicU64::new(0) }; Span::WORDS] }
    }

    /// Sets the span. Only with the GVL, or where no other thread can write.
    pub(crate) fn set(&self, span: Option<Span>) {
        let changes = self.changes.load(Relaxed);
        if changes == 0 && span.is_none() {
            return;
        }
        self.changes.store(changes.wrapping_add(1), Relaxed);
        // Pairs with the Acquire fence: whoever reads a word of this change then reads an odd or a later
        // number.
        fence(Release);
        let words = span.map_or([0; Span::WORDS], |it| it.words());
        self.words.iter().zip(words).for_each(|(word, value)| word.store(value, Relaxed));
        // Zero means never, so it is skipped after four billion changes.
        let changes = changes.wrapping_add(2);
        self.changes.store(if changes == 0 { 2 } else { changes }, Release);
    }

    /// Returns the span.
    ///
    /// # Signal safety
    /// Loads only.
    #[inline]
    pub(crate) fn get(&self) -> Option<Span> {
        let before = self.changes.load(Acquire);
        if before == 0 || before % 2 == 1 {
            return None;
        }
        let words = self.words.each_ref().map(|it| it.load(Relaxed));
        fence(Acquire);
        let unchanged = self.changes.load(Relaxed) == before;
        Span::from_words(words).filter(|_| unchanged)
    }
}
