//! The span of a sample that is sent. It is not a dimension: engines keep it beside the labels, or as a link.

use crate::profile::{Sample, ROOT_SPAN, SPAN, TRACE};

/// A span of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SentSpan {
    pub(super) trace_id: [u8; 16],
    pub(super) span_id: [u8; 8],
}

/// The choice of the span that is sent with a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpanChoice {
    /// No span.
    Omitted,
    /// The sample's own span.
    Own,
    /// The span with which the process entered the trace: the profile of a request belongs to its root span.
    Root,
}

impl SpanChoice {
    /// Returns the span of a sample. Returns `None` also if its labels are not ids, as an app may have such
    /// labels of its own.
    pub(super) fn of(self, sample: &Sample) -> Option<SentSpan> {
        let label = |name: &str| sample.label(name);
        let span_id = match self {
            Self::Omitted => return None,
            Self::Own => label(SPAN)?,
            Self::Root => label(ROOT_SPAN).or_else(|| label(SPAN))?,
        };
        Some(SentSpan { trace_id: bytes(label(TRACE)?)?, span_id: bytes(span_id)? })
    }
}

/// Decodes the bytes of an id. Returns `None` if the text is not an id of that length, or is 0.
fn bytes<const N: usize>(hex: &str) -> Option<[u8; N]> {
    if hex.len() != 2 * N || !hex.bytes().all(|it| it.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; N];
    for (place, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(hex.get(2 * place..2 * place + 2)?, 16).ok()?;
    }
    Some(bytes).filter(|it| *it != [0; N])
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn ids_are_digits_of_the_right_length() {
        assert_eq!(bytes("0aFF"), Some([10, 255]));
        for wrong in ["", "0a", "0afff", "0affff", "0a+f", "zzzz", "0000", "äää"] {
            assert_eq!(bytes::<2>(wrong), None, "{wrong}");
        }
    }
}
