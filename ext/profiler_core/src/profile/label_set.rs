//! A set of labels.

use std::collections::BTreeMap;

/// The value of every label in a set that exceeds the number of sets that are kept apart.
pub const OTHER: &str = "(other)";

/// The label with the trace in which a sample was taken: 32 digits, as in OpenTelemetry.
pub const TRACE: &str = "trace_id";

/// The label with the span: 16 digits.
pub const SPAN: &str = "span_id";

/// The label with the span with which the process entered the trace, if that is another span.
pub const ROOT_SPAN: &str = "root_span_id";

/// Labels and their values, sorted by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelSet(Vec<(String, String)>);

impl LabelSet {
    /// A set without labels.
    pub const EMPTY: Self = Self(Vec::new());

    /// Returns this set with `more` on top: a value replaces an older one of the same name, and `None`
    /// removes the label.
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

    /// Returns the name and value of each label, sorted by name.
    #[must_use]
    pub fn pairs(&self) -> &[(String, String)] {
        &self.0
    }

    /// Returns the value of a label.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&str> {
        value_of(&self.0, name)
    }

    /// Returns whether there are no labels.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether all labels of `required` are here with the same values.
    #[must_use]
    pub fn has_all(&self, required: &Self) -> bool {
        required.0.iter().all(|label| self.0.binary_search(label).is_ok())
    }

    /// Returns a set with the same names, each with the value [`OTHER`].
    pub(crate) fn others(&self) -> Self {
        Self(self.0.iter().map(|(name, _)| (name.clone(), OTHER.to_owned())).collect())
    }
}

/// Returns the value of the first label with that name.
pub(super) fn value_of<'labels>(labels: &'labels [(String, String)], name: &str) -> Option<&'labels str> {
    labels.iter().find(|label| label.0 == name).map(|label| label.1.as_str())
}
