//! Families of sample types: the types that engines store as one profile.

use crate::profile::{Profile, SampleType};

/// Sample types that belong together. The numbers of samples belong to no family, as they do not measure the
/// program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// CPU time.
    Cpu,
    /// Wall-clock time and its parts.
    Wall,
    /// Allocated objects.
    Allocations,
    /// Live objects.
    Heap,
}

impl Family {
    /// All families in the order in which they are sent.
    pub const ALL: [Self; 4] = [Self::Cpu, Self::Wall, Self::Allocations, Self::Heap];

    /// Returns the name, which is that of the mode.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Wall => "wall",
            Self::Allocations => "allocations",
            Self::Heap => "heap",
        }
    }

    /// Returns the family of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// Returns the name known to Pyroscope and Parca, their label `__name__`.
    pub(super) fn metric(self) -> &'static str {
        match self {
            Self::Cpu => "process_cpu",
            Self::Wall => "wall",
            Self::Allocations | Self::Heap => "memory",
        }
    }

    /// Returns the types of the family that the profile has, in their order.
    pub(super) fn types_in(self, profile: &Profile) -> Vec<SampleType> {
        self.types().iter().copied().filter(|it| profile.sample_types.contains(it)).collect()
    }

    fn types(self) -> &'static [SampleType] {
        match self {
            Self::Cpu => &[SampleType::Cpu],
            Self::Wall => &[SampleType::Wall, SampleType::GvlWait, SampleType::Gc, SampleType::GvlBlame],
            Self::Allocations => &[SampleType::AllocObjects, SampleType::AllocSpace],
            Self::Heap => &[SampleType::InuseObjects, SampleType::InuseSpace],
        }
    }

    /// Returns the type by which samples are heavy or light, and which is shown first.
    pub(super) fn main_type(self) -> SampleType {
        match self {
            Self::Cpu => SampleType::Cpu,
            Self::Wall => SampleType::Wall,
            Self::Allocations => SampleType::AllocSpace,
            Self::Heap => SampleType::InuseSpace,
        }
    }

    /// Returns the name, unit and number of the period. Go's memory profiles have bytes, which are 0 if the
    /// window was in objects.
    pub(super) fn period(self, profile: &Profile) -> (&'static str, &'static str, u64) {
        match self {
            Self::Cpu => ("cpu", "nanoseconds", profile.meta.interval_ns),
            Self::Wall => ("wall", "nanoseconds", profile.meta.interval_ns),
            Self::Allocations | Self::Heap => ("space", "bytes", profile.meta.every_bytes),
        }
    }

    /// Returns start and length, ns. Live objects are those at the end; an engine takes a profile with a
    /// length for a rate.
    pub(super) fn time_ns(self, profile: &Profile) -> (u64, u64) {
        let meta = &profile.meta;
        match self {
            Self::Cpu | Self::Wall | Self::Allocations => (meta.started_at_ns, meta.duration_ns),
            Self::Heap => (meta.started_at_ns.saturating_add(meta.duration_ns), 0),
        }
    }
}
