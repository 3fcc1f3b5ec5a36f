//! The types of samples, their units, and the weights of a row: one number for each type.

use serde::{Deserialize, Serialize};

use crate::text::units;

/// A sample type: the quantity that is measured. The types of a profile are always in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SampleType {
    /// Records taken; never shown as time.
    Samples,
    /// CPU time, ns.
    Cpu,
    /// Wall-clock time, ns: the total, which includes waiting for the GVL and GC.
    Wall,
    /// Wall-clock time spent waiting for the GVL, ns.
    GvlWait,
    /// Wall-clock time spent collecting garbage, ns.
    Gc,
    /// Wall-clock time that others waited for the GVL while this stack held it, ns.
    GvlBlame,
    /// Allocated objects.
    AllocObjects,
    /// Allocated bytes.
    AllocSpace,
    /// Live objects.
    InuseObjects,
    /// Live bytes.
    InuseSpace,
}

impl SampleType {
    /// All types, in order.
    pub const ALL: [Self; 10] = [
        Self::Samples,
        Self::Cpu,
        Self::Wall,
        Self::GvlWait,
        Self::Gc,
        Self::GvlBlame,
        Self::AllocObjects,
        Self::AllocSpace,
        Self::InuseObjects,
        Self::InuseSpace,
    ];

    /// Returns the name, as known to pprof's users and servers, and the unit.
    #[must_use]
    pub fn name_and_unit(self) -> (&'static str, &'static str) {
        match self {
            Self::Samples => ("samples", "count"),
            Self::Cpu => ("cpu", "nanoseconds"),
            Self::Wall => ("wall", "nanoseconds"),
            Self::GvlWait => ("gvl_wait", "nanoseconds"),
            Self::Gc => ("gc", "nanoseconds"),
            Self::GvlBlame => ("gvl_blame", "nanoseconds"),
            Self::AllocObjects => ("alloc_objects", "count"),
            Self::AllocSpace => ("alloc_space", "bytes"),
            Self::InuseObjects => ("inuse_objects", "count"),
            Self::InuseSpace => ("inuse_space", "bytes"),
        }
    }

    /// Formats a weight in the unit of this type: `1.23 s`, `45.1 MiB`, `1,234`.
    #[must_use]
    pub fn amount(self, weight: u64) -> String {
        match self.name_and_unit().1 {
            "nanoseconds" => units::duration(weight),
            "bytes" => units::bytes(weight),
            _ => units::count(weight),
        }
    }
}

/// The weights of a row: a number for each [`SampleType`], which is 0 if the type is not in the profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weights([u64; SampleType::ALL.len()]);

impl Weights {
    /// Returns the number of one type, in its unit.
    #[must_use]
    pub fn get(&self, of: SampleType) -> u64 {
        self.0.get(of as usize).copied().unwrap_or(0)
    }

    /// Sets the number of one type.
    pub fn set(&mut self, of: SampleType, to: u64) {
        if let Some(slot) = self.0.get_mut(of as usize) {
            *slot = to;
        }
    }

    /// Subtracts all numbers of `other`, but not below 0.
    pub fn subtract(&mut self, other: &Weights) {
        self.0.iter_mut().zip(other.0).for_each(|(rest, less)| *rest = rest.saturating_sub(less));
    }

    /// Adds all numbers of `other`.
    pub fn add(&mut self, other: &Weights) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, more)| *sum = sum.saturating_add(more));
    }
}
