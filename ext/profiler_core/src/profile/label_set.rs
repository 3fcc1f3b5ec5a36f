//! A set of labels.

use std::collections::BTreeMap;

/// The value of every label of a set that came too late.
pub const OTHER: &str = "(other)";

/// The label of the trace that a sample was taken in: 32 digits, as in OpenTelemetry.
pub const TRACE: &str = "trace_id";

/// The label of the span: 16 digits.
pub const SPAN: &str = "span_id";

/// The label of the span with which the process entered the trace, where that is another one.
pub const ROOT_SPAN: &str = "root_span_id";

/// Labels and their values, sorted by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelSet(Vec<(String, String)>);

impl LabelSet {
    /// No labels.
    pub const EMPTY: Self = Self(Vec::new());

    /// This set with `more` on top: a value replaces an older one of the same name, and nothing takes
    /// the label away.
    #[must_use]
    pub fn with(&self, more: impl IntoIterator<Item = (String, Option<String>)>) -> Self {
        let mut labels: BTreeMap<String, String> = self.0.iter().cloned().collect();
        for (name, value) in more {
            match value {
                Some(value) => labels.insert(name, value),
                None => labels.remove(&name),
            };
        }
        Self(labels.into_iter().collect())
    }

    /// Name and value of each, sorted by name.
    #[must_use]
    pub fn pairs(&self) -> &[(String, String)] {
        &self.0
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether all labels of `required` are here, with the same values.
    #[must_use]
    pub fn has_all(&self, required: &Self) -> bool {
        required.0.iter().all(|label| self.0.binary_search(label).is_ok())
    }

    /// The same names, each with the value [`OTHER`].
    pub(crate) fn others(&self) -> Self {
        Self(self.0.iter().map(|(name, _)| (name.clone(), OTHER.to_owned())).collect())
    }
}
