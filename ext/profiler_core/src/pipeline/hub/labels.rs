//! The sets of labels, as who sets labels sees them.

use std::sync::atomic::Ordering;

use super::Hub;
use crate::ids::LabelSetId;
use crate::profile::LabelSet;

impl Hub {
    /// The id of a set of labels on the fiber of that number, 0 if no session wants the number. The id is good for the table
    /// whose number comes with it, and for records until the next but one.
    #[must_use]
    pub fn intern_labels(&self, set: &LabelSet, fiber: u32) -> (u64, LabelSetId) {
        let mut labels = self.labels();
        (self.labels_table(), labels.intern(set, fiber))
    }

    /// The number of the present table of sets of labels.
    #[must_use]
    pub fn labels_table(&self) -> u64 {
        self.labels_table.load(Ordering::Relaxed) // ids and numbers come together under the lock
    }

    /// The number of sets of labels that came too late to be kept apart, since the first session.
    #[must_use]
    pub fn labels_refused(&self) -> u64 {
        self.labels().refused()
    }
}
