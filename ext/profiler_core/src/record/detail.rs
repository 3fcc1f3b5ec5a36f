//! The details of some records, in addition to their stack, thread, labels and state.

use ::core::prelude::rust_2021::*;

use crate::ids::ThreadId;
use crate::record::object_class::Class;

/// The detail of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Detail {
    /// No detail.
    #[default]
    None,
    /// The cause of a garbage collection.
    Gc(GcCause),
    /// The thread that was waiting for the GVL at that time.
    Waiter(ThreadId),
    /// The class of allocated objects.
    Allocated(Class),
    /// The class of live objects, and their age.
    Live(Class, Age),
    /// The library that allocated live blocks of memory, and the number of their owner's name in
    /// [`BlockNames`](crate::tables::block_names::BlockNames).
    Owned(Class, u32),
}

impl Detail {
    /// Returns the class, or the library, of what was allocated.
    #[must_use]
    pub fn class(self) -> Option<Class> {
        match self {
            Self::Allocated(class) | Self::Live(class, _) | Self::Owned(class, _) => Some(class),
            Self::None | Self::Gc(_) | Self::Waiter(_) => None,
        }
    }

    /// Returns whether what was allocated is live.
    #[must_use]
    pub fn is_live(self) -> bool {
        ::core::matches!(self, Self::Live(..) | Self::Owned(..))
    }
}

/// The age of an object: roughly the number of garbage collections that it has survived. The ages are 0, 1, 2
/// to 3, 4 to 7 and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Age(u8);

impl Age {
    /// Returns the age after `collections` garbage collections.
    #[must_use]
    pub fn of(collections: u64) -> Self {
        Self((u64::BITS - collections.leading_zeros()) as u8)
    }

    /// Returns the smallest and the largest number of collections that the age stands for.
    #[must_use]
    pub fn range(self) -> (u64, u64) {
        match self.0.checked_sub(1) {
            None => (0, 0),
            Some(bits) => (1 << bits, (1 << bits) + ((1 << bits) - 1)),
        }
    }
}

/// The cause of a GC: its kind, and the reason why it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GcCause(u8);

impl GcCause {
    /// An unknown cause.
    pub const UNKNOWN: Self = Self(0);

    /// The reasons for a minor GC, as the VM reports them in `GC.latest_gc_info(:gc_by)`.
    pub const MINOR: [&'static str; 5] = ["newobj", "malloc", "method", "capi", "stress"];
    /// The reasons for a major GC, as in `GC.latest_gc_info(:major_by)`.
    pub const MAJOR: [&'static str; 5] = ["nofree", "oldgen", "shady", "force", "oldmalloc"];

    /// Returns the cause at `place` in [`GcCause::MINOR`].
    #[must_use]
    pub fn minor(place: usize) -> Self {
        Self::at(1 + place)
    }

    /// Returns the cause at `place` in [`GcCause::MAJOR`].
    #[must_use]
    pub fn major(place: usize) -> Self {
        Self::at(1 + Self::MINOR.len() + place)
    }

    fn at(place: usize) -> Self {
        let known = place <= Self::MINOR.len() + Self::MAJOR.len();
        if known {
            Self(place as u8)
        } else {
            Self::UNKNOWN
        }
    }

    pub(crate) fn bits(self) -> u64 {
        u64::from(self.0)
    }

    pub(crate) fn from_bits(bits: u64) -> Self {
        Self::at(bits as usize)
    }

    /// Returns `minor` or `major` and the reason, or `None` for an unknown cause.
    #[must_use]
    pub fn names(self) -> Option<(&'static str, &'static str)> {
        let place = usize::from(self.0).checked_sub(1)?;
        match place.checked_sub(Self::MINOR.len()) {
            None => Self::MINOR.get(place).map(|reason| ("minor", *reason)),
            Some(place) => Self::MAJOR.get(place).map(|reason| ("major", *reason)),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use ::std::assert_eq;

    #[test]
    fn ages_are_rounded_to_ranges() {
        for (collections, range) in
            [(0, (0, 0)), (1, (1, 1)), (3, (2, 3)), (4, (4, 7)), (u64::MAX, (1 << 63, u64::MAX))]
        {
            assert_eq!(Age::of(collections).range(), range);
        }
    }

    #[test]
    fn gc_causes_round_trip() {
        assert_eq!(GcCause::UNKNOWN.names(), None);
        assert_eq!(GcCause::minor(1).names(), Some(("minor", "malloc")));
        assert_eq!(GcCause::major(3).names(), Some(("major", "force")));
        assert_eq!(GcCause::major(4).names(), Some(("major", "oldmalloc")));
        for bits in [0, 1, 5, 6, 10, 11, u64::MAX] {
            let cause = GcCause::from_bits(bits);
            assert_eq!(GcCause::from_bits(cause.bits()), cause);
            assert_eq!(cause.names().is_some(), (1..=10).contains(&bits));
        }
    }
}
