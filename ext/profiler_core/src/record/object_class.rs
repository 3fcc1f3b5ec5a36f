//! The class of an object, as far as it is known at its allocation.

use ::core::prelude::rust_2021::*;

/// In one word: a handle of the VM, which is even, or the type of an object that the VM made for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Class(u64);

impl Class {
    /// No class.
    pub const NONE: Self = Self(0);

    /// The class behind a handle.
    #[inline]
    #[must_use]
    pub fn of_handle(handle: u64) -> Self {
        Self(handle & !1)
    }

    /// The class of internal objects of that type, which no Ruby code gets to see.
    #[inline]
    #[must_use]
    pub fn internal(of_type: u8) -> Self {
        Self(u64::from(of_type) << 1 | 1)
    }

    /// The handle, if the VM can name the class.
    #[inline]
    #[must_use]
    pub fn handle(self) -> Option<u64> {
        (self.0 & 1 == 0 && self.0 != 0).then_some(self.0)
    }

    #[inline]
    pub(crate) fn word(self) -> u64 {
        self.0
    }

    #[inline]
    pub(crate) fn from_word(word: u64) -> Self {
        Self(word)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use ::std::assert_eq;

    #[test]
    fn objects_without_class_have_no_handle() {
        assert_eq!(Class::NONE.handle(), None);
        assert_eq!(Class::internal(7).handle(), None);
        assert_eq!(Class::of_handle(0x7f00).handle(), Some(0x7f00));
        assert_eq!(Class::from_word(Class::internal(5).word()), Class::internal(5));
    }
}
