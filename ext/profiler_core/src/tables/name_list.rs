//! Names by number. They are never removed, so a record may keep a number for as long as it likes.

use ::core::prelude::rust_2021::*;
use ::std::boxed::Box;
use ::std::sync::OnceLock;

/// The largest number of names.
pub(crate) const MOST: usize = 512;

/// A list of at most 512 names, to which threads add without waiting for one another.
#[derive(Debug)]
pub struct NameList {
    names: Box<[OnceLock<Box<str>>]>,
}

impl Default for NameList {
    fn default() -> Self {
        Self { names: (0..MOST).map(|_| OnceLock::new()).collect() }
    }
}

impl NameList {
    /// Returns the number of a name, which is added if it is new. Returns `None` if there is no space.
    pub fn number(&self, name: &str) -> Option<u32> {
        let is_it = |known: &OnceLock<Box<str>>| &**known.get_or_init(|| name.into()) == name;
        self.names.iter().position(is_it).map(|number| number as u32)
    }

    /// Returns the name with that number.
    #[must_use]
    pub fn name(&self, number: u32) -> Option<&str> {
        self.names.get(number as usize)?.get().map(|name| &**name)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use ::std::{assert_eq, format};

    #[test]
    fn numbers_stay_and_names_beyond_the_limit_have_none() {
        let list = NameList::default();
        let numbers: ::std::vec::Vec<_> =
            (0..MOST + 2).map(|it| list.number(&format!("name {it}"))).collect();
        assert_eq!(numbers[MOST - 1..], [Some(MOST as u32 - 1), None, None]);
        assert_eq!((list.number("name 7"), list.name(7)), (Some(7), Some("name 7")));
        assert_eq!(list.name(MOST as u32), None);
    }
}
