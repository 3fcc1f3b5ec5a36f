//! The reason why a process is not joined.

/// Why a process is not joined, as a sentence without its subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It will be the same later.
    Never(String),
    /// Another attempt may succeed.
    NotNow(String),
}

impl Refusal {
    pub(super) fn never(text: impl Into<String>) -> Self {
        Self::Never(text.into())
    }
}
