//! The class of an object, as far as it is known when the object is allocated.

use ::core::prelude::rust_2021::*;

/// A class in one word: a handle of the VM, which is even, or the type of an object that the VM made for
/// itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Class(u64);

impl Class {
    /// No class.
    pub const NONE: Self = Self(0);

    /// Returns the class with that handle.
    #[inline]
    #[must_use]
    pub fn of_handle(handle: u64) -> Self {
        Self(handle & !1)
    }

    /// Returns the class of internal objects of that type, which are never visible to Ruby code.
    #[inline]
    #[must_use]
    pub fn internal(of_type: u8) -> Self {
        Self(u64::from(of_type) << 1 | 1)
    }

    /// Returns the handle, if the VM can name the class.
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
