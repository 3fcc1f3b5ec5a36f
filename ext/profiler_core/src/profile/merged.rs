//! The origins of a merged profile.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// The values in which the parts of a merged profile differ. A set with fewer than two values means that
/// there is no difference.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Merged {
    /// The number of profiles.
    pub profiles: u64,
    /// The ids of the processes.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub processes: BTreeSet<String>,
    /// The `$PROGRAM_NAME` of each process.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub programs: BTreeSet<String>,
    /// The `RUBY_DESCRIPTION` of each process.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub rubies: BTreeSet<String>,
    /// The versions of the profiler.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub versions: BTreeSet<String>,
    /// The requested intervals, with their units.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub intervals: BTreeSet<String>,
    /// The sample types that only some of the profiles have, and `timeline` if only some have one.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub partly: BTreeSet<String>,
    /// The names of the metadata that was left out because its values differ.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub metadata: BTreeSet<String>,
    /// Whether some time between start and end is covered by no profile.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub gaps: bool,
}

impl Merged {
    /// Adds the origins of another part.
    pub(crate) fn add(&mut self, other: &Self) {
        self.profiles = self.profiles.saturating_add(other.profiles);
        for (mine, theirs) in self.lists_mut().into_iter().zip(other.lists()) {
            mine.extend(theirs.iter().cloned());
        }
        self.gaps |= other.gaps;
    }

    fn lists(&self) -> [&BTreeSet<String>; 7] {
        let Self { processes, programs, rubies, versions, intervals, partly, metadata, .. } = self;
        [processes, programs, rubies, versions, intervals, partly, metadata]
    }

    fn lists_mut(&mut self) -> [&mut BTreeSet<String>; 7] {
        let Self { processes, programs, rubies, versions, intervals, partly, metadata, .. } = self;
        [processes, programs, rubies, versions, intervals, partly, metadata]
    }

    /// Iterates over all texts in the lists.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &String> {
        self.lists().into_iter().flatten()
    }

    /// Returns sentences for the reader of the profile.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let list =
            |values: &BTreeSet<String>| values.iter().map(String::as_str).collect::<Vec<_>>().join("; ");
        let mut sentences = vec![format!("merged from {} profiles", self.profiles)];
        let several = [
            ("processes", &self.processes),
            ("programs", &self.programs),
            ("Rubies", &self.rubies),
            ("versions of the profiler", &self.versions),
            ("intervals", &self.intervals),
        ];
        for (noun, values) in several.into_iter().filter(|(_, values)| values.len() > 1) {
            sentences.push(format!("{} {noun}: {}", values.len(), list(values)));
        }
        let some = [
            ("measured in some of the profiles only", &self.partly),
            ("metadata that differed and was left out", &self.metadata),
        ];
        for (what, values) in some.into_iter().filter(|(_, values)| !values.is_empty()) {
            sentences.push(format!("{what}: {}", list(values)));
        }
        if self.gaps {
            sentences.push("there is time between start and end that no profile covers".into());
        }
        sentences
    }
}
