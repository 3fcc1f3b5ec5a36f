//! The span of a distributed trace in which a record was taken.

use ::core::prelude::rust_2021::*;

/// A span of a trace, as OpenTelemetry defines it. The ids are the bytes that are sent over the wire. A trace
/// id of 0 means that there is no trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The trace.
    pub trace_id: [u8; 16],
    /// The span within it.
    pub span_id: [u8; 8],
    /// The span with which this process entered the trace: the span itself, or its ancestor that all other
    /// spans of the trace in this process are below.
    pub root_id: [u8; 8],
}

impl Span {
    /// The number of words of a span.
    pub const WORDS: usize = 4;

    /// Encodes the span in words of the machine.
    #[inline]
    #[must_use]
    pub fn words(&self) -> [u64; Self::WORDS] {
        let trace = u128::from_ne_bytes(self.trace_id);
        [
            trace as u64,
            (trace >> 64) as u64,
            u64::from_ne_bytes(self.span_id),
            u64::from_ne_bytes(self.root_id),
        ]
    }

    /// Decodes a span from such words. Returns `None` if there is no trace.
    #[inline]
    #[must_use]
    pub fn from_words([low, high, span, root]: [u64; Self::WORDS]) -> Option<Self> {
        let trace_id = (u128::from(high) << 64 | u128::from(low)).to_ne_bytes();
        let (span_id, root_id) = (span.to_ne_bytes(), root.to_ne_bytes());
        (low | high != 0).then_some(Self { trace_id, span_id, root_id })
    }
}
