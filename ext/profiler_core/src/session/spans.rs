//! The spans that the rows of a session refer to: a bounded table, however many requests a session sees.

use crate::ids::{Interner, SpanIndex};
use crate::record::Span;

/// The maximum number of spans that keep rows apart. Time in further spans has no span.
pub const MAX_SPANS: usize = 10_000;

/// The spans by index.
#[derive(Clone, Debug, Default)]
pub struct Spans {
    spans: Interner<Span, SpanIndex>,
    refused: u64,
}

impl Spans {
    /// Returns the index of a span, or [`SpanIndex::NONE`] if there is no room for it, which is counted.
    pub fn intern(&mut self, span: Span) -> SpanIndex {
        if self.spans.rows().len() < MAX_SPANS {
            return self.spans.intern(span);
        }
        self.spans.find(&span).unwrap_or_else(|| {
            self.refused += 1;
            SpanIndex::NONE
        })
    }

    /// Returns the span of an index.
    #[must_use]
    pub fn get(&self, index: SpanIndex) -> Option<Span> {
        self.spans.get(index).copied()
    }

    /// Returns the number of times that there was no room for a span.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Adds the spans that another table refused.
    pub(crate) fn add_refused(&mut self, more: u64) {
        self.refused += more;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn span(number: usize) -> Span {
        let mut trace_id = [0; 16];
        trace_id[..8].copy_from_slice(&(number as u64 + 1).to_be_bytes());
        Span { trace_id, span_id: [1; 8], root_id: [2; 8] }
    }

    #[test]
    fn spans_are_bounded_and_known_ones_stay_known() {
        let mut spans = Spans::default();
        for number in 0..MAX_SPANS + 3 {
            let index = spans.intern(span(number));
            assert_eq!(spans.get(index), (number < MAX_SPANS).then(|| span(number)), "{number}");
        }
        assert_eq!(spans.refused(), 3);
        let known = spans.intern(span(7));
        assert_eq!(spans.get(known), Some(span(7)));
        assert_eq!(spans.refused(), 3);
        assert_eq!(spans.get(SpanIndex::NONE), None);
    }
}
