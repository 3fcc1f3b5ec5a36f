//! The label sets in a file of rperf, and the states that two of the labels express.

use std::fmt;

use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};

use crate::error::Error;
use crate::format::input::Budget;
use crate::format::read::texts::{Pairs, Texts};
use crate::record::State;

const GVL: &str = "%GVL";
const GC: &str = "%GC";

/// The label sets: the names and values of all sets, and where each set ends.
#[derive(Default)]
pub(super) struct RperfLabels {
    texts: Texts,
    ends: Vec<u32>,
}

impl<'de> Deserialize<'de> for RperfLabels {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = RperfLabels;
            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("an array of sets of labels")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<RperfLabels, A::Error> {
                let mut sets = RperfLabels::default();
                while seq.next_element_seed(Pairs(&mut sets.texts))?.is_some() {
                    sets.ends.push(u32::try_from(sets.texts.len()).unwrap_or(u32::MAX));
                }
                Ok(sets)
            }
        }
        from.deserialize_seq(List)
    }
}

/// The state of a sample, and its labels, sorted by name.
pub(super) struct RowLabels {
    pub(super) state: State,
    pub(super) labels: Vec<(String, String)>,
}

impl RowLabels {
    fn add(&mut self, name: &str, value: &str, budget: &mut Budget) -> Result<(), Error> {
        match (name, value) {
            (GVL, "blocked") => self.state = State::Waiting,
            (GVL, "wait") => self.state = State::Gvl,
            _ => {
                // The label also says whether GC was marking or sweeping, which the state does not, so the
                // label is kept.
                if name == GC {
                    self.state = State::Gc;
                }
                self.labels.push((budget.copy(name)?, budget.copy(value)?));
            }
        }
        Ok(())
    }
}

impl RperfLabels {
    /// Returns the labels of the set `id`, with the state of rperf's number, which only samples that are not
    /// summed up have.
    pub(super) fn labels(&self, id: u32, number: u32, budget: &mut Budget) -> Result<RowLabels, Error> {
        let mut labels = RowLabels { state: State::Running, labels: Vec::new() };
        for place in self.range(id)? {
            if let (Some(name), Some(value)) = (self.texts.get(2 * place), self.texts.get(2 * place + 1)) {
                labels.add(name, value, budget)?;
            }
        }
        match number {
            1 => labels.add(GVL, "blocked", budget)?,
            2 => labels.add(GVL, "wait", budget)?,
            3 => labels.add(GC, "mark", budget)?,
            4 => labels.add(GC, "sweep", budget)?,
            _ => {}
        }
        // If a name has several values, the first is kept.
        labels.labels.sort();
        labels.labels.dedup_by(|one, other| one.0 == other.0);
        Ok(labels)
    }

    /// Returns the indexes of a set's pairs. A file without labels has no sets, and set 0 is the empty one.
    fn range(&self, id: u32) -> Result<std::ops::Range<usize>, Error> {
        let id = id as usize;
        let end = match self.ends.get(id) {
            Some(end) => *end,
            None if id == 0 => 0,
            None => {
                return Err(Error::malformed(format!(
                    "it refers to set {id} of labels, but has only {}",
                    self.ends.len()
                )))
            }
        };
        let begin = id.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        Ok(begin as usize / 2..end as usize / 2)
    }
}
