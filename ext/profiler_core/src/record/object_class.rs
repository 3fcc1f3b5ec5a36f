//! The class of an object, as far as it is known when the object is allocated, or the library that allocated a
//! block of memory.

use ::core::prelude::rust_2021::*;

/// A class in one word: a handle of the VM, which is even, or an odd number for the type of an object that the
/// VM made for itself, or for the library that allocated a block of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Class(u64);

impl Class {
    /// No class.
    pub const NONE: Self = Self(0);

    /// Blocks of an unknown library.
    pub const NO_LIBRARY: Self = Self((u32::MAX as u64 + Self::INTERNAL_TYPES) << 1 | 1);

    /// The number of types of objects.
    const INTERNAL_TYPES: u64 = 1 << 8;

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

    /// Returns the word for blocks of the library with that number: see
    /// [`Libraries`](crate::tables::libraries::Libraries).
    #[inline]
    #[must_use]
    pub fn library(number: u32) -> Self {
        Self((u64::from(number) + Self::INTERNAL_TYPES) << 1 | 1)
    }

    /// Returns the number of the library, if these are blocks of one.
    #[inline]
    #[must_use]
    pub fn library_number(self) -> Option<u32> {
        let number = (self.0 >> 1).checked_sub(Self::INTERNAL_TYPES)?;
        (self.0 & 1 == 1).then_some(number as u32)
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
    fn blocks_of_a_library_are_neither_objects_of_a_class_nor_internal() {
        for number in [0, 1, u32::MAX] {
            let library = Class::library(number);
            assert_eq!((library.library_number(), library.handle()), (Some(number), None));
        }
        for class in [Class::NONE, Class::of_handle(1 << 20), Class::internal(u8::MAX)] {
            assert_eq!(class.library_number(), None);
        }
    }

    #[test]
    fn objects_without_class_have_no_handle() {
        assert_eq!(Class::NONE.handle(), None);
        assert_eq!(Class::internal(7).handle(), None);
        assert_eq!(Class::of_handle(0x7f00).handle(), Some(0x7f00));
        assert_eq!(Class::from_word(Class::internal(5).word()), Class::internal(5));
    }
}
