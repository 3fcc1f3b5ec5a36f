//! The reason why it is impossible to attach to a process.

/// A reason, as a sentence about the process without its subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AttachRefusal {
    /// Another attempt would fail too.
    Never(String),
    /// Another attempt may succeed.
    NotNow(String),
}

impl AttachRefusal {
    pub(super) fn never(text: impl Into<String>) -> Self {
        Self::Never(text.into())
    }
}
