//! The header of a file: the program that wrote it, and how the profile was recorded.

use serde::Deserialize;

use crate::error::Error;
use crate::format::input::{AtMost, Budget};
use crate::format::read::texts::NamedTexts;
use crate::profile::{Meta, SampleType};
use crate::record::State;

/// The maximum number of categories of code.
const MAX_CATEGORIES: usize = 10_000;

/// The maximum number of metadata entries of a user.
const MAX_FACTS: usize = 10_000;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FileMeta {
    /// The version of the format. A profile that no tool has processed lacks it.
    pub(super) preprocessed_profile_version: Option<u64>,
    product: Option<String>,
    imported_from: Option<String>,
    start_time: Option<f64>,
    pub(super) interval: Option<f64>,
    profiling_start_time: Option<f64>,
    profiling_end_time: Option<f64>,
    #[serde(default)]
    categories: AtMost<Category, MAX_CATEGORIES>,
    mode: Option<String>,
    sample_units: Option<Units>,
    #[serde(default)]
    vernier_user_metadata: NamedTexts,
    /// The sample type, if profiler wrote the file.
    profiler_sample_type: Option<String>,
}

#[derive(Deserialize)]
struct Category {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct Units {
    #[serde(rename = "threadCPUDelta")]
    cpu: Option<String>,
}

/// The program that wrote a file.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Writer {
    Vernier,
    Ours,
    Other,
}

impl FileMeta {
    pub(super) fn origin(&self) -> Writer {
        if self.product.as_deref() == Some("Ruby/Vernier") {
            Writer::Vernier
        } else if self.imported_from.as_deref() == Some("profiler") {
            Writer::Ours
        } else {
            Writer::Other
        }
    }

    /// Returns the sample type of a file that profiler wrote.
    pub(super) fn sample_type(&self) -> Option<SampleType> {
        let name = self.profiler_sample_type.as_deref()?;
        SampleType::ALL.into_iter().find(|it| it.name_and_unit().0 == name)
    }

    /// Returns the state of a thread whose leaf has that category.
    pub(super) fn state(&self, category: Option<usize>) -> State {
        let category = category.and_then(|it| self.categories.0.get(it));
        match category.map(|it| it.name.as_str()) {
            Some("Idle") => State::Waiting,
            Some("Stalled") => State::Gvl,
            Some("GC") => State::Gc,
            _ => State::Running,
        }
    }

    /// Returns the number of nanoseconds in the unit of CPU time, if the unit is a time.
    pub(super) fn cpu_unit_ns(&self) -> Option<f64> {
        match self.sample_units.as_ref()?.cpu.as_deref()? {
            "ns" => Some(1.0),
            "µs" | "us" => Some(1e3),
            "ms" => Some(1e6),
            _ => None,
        }
    }

    /// Converts the header to ours. Vernier writes the same interval for all profiles, so its interval is
    /// unknown.
    pub(super) fn meta(&self, budget: &mut Budget) -> Result<Meta, Error> {
        let is_vernier = self.origin() == Writer::Vernier;
        let ends_ms = self.profiling_end_time.zip(self.profiling_start_time);
        let mut meta = Meta {
            modes: self.mode.iter().cloned().collect(),
            started_at_ns: ns(self.start_time.unwrap_or(0.0)),
            duration_ns: ends_ms.map_or(0, |(end, start)| ns(end - start)),
            interval_ns: if is_vernier { 0 } else { ns(self.interval.unwrap_or(0.0)) },
            ..Meta::default()
        };
        for (name, value) in self.vernier_user_metadata.pairs() {
            if meta.user.len() == MAX_FACTS {
                return Err(Error::malformed(format!("it has more than {MAX_FACTS} items of metadata")));
            }
            meta.user.insert(budget.copy(name)?, budget.copy(value)?);
        }
        Ok(meta)
    }
}

/// Converts milliseconds to nanoseconds, at most to the largest number.
pub(super) fn ns(ms: f64) -> u64 {
    // Convert both parts separately, as a date in nanoseconds has more digits than the number can hold.
    let rest_ns = (ms.fract() * 1e6).round() as u64;
    (ms.trunc() as u64).saturating_mul(1_000_000).saturating_add(rest_ns)
}
