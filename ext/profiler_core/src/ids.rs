//! Newtype ids, and the only way to create them: no bare integer leaves the table that it indexes.

use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

/// An id: the index of a row in its table.
pub trait Id: Copy {
    /// Returns the id of that index. Tables stay far below 2^32 rows; beyond that, the last id is
    /// returned for ever, which is wrong but harmless.
    fn from_index(index: usize) -> Self;
    /// Returns the index in the table.
    fn index(self) -> usize;
}

/// The number of rows that are searched linearly. A session around one request has no more of most things.
const FEW: usize = 8;

/// A table that assigns one id to equal rows, in the order in which they first came.
#[derive(Clone, Debug)]
pub struct Interner<T, I> {
    rows: Vec<T>,
    /// The indexes by the hash of their rows, once there are more than a few.
    places: HashTable<u32>,
    id: PhantomData<I>,
}

impl<T, I> Default for Interner<T, I> {
    fn default() -> Self {
        Self { rows: Vec::new(), places: HashTable::new(), id: PhantomData }
    }
}

impl<T: Eq + Hash, I: Id> Interner<T, I> {
    /// Returns the id of `row`, adding it if there is no equal row.
    pub fn intern(&mut self, row: T) -> I {
        if let Some(known) = self.find(&row) {
            return known;
        }
        self.rows.push(row);
        if self.rows.len() > FEW {
            self.enter();
        }
        I::from_index(self.rows.len() - 1)
    }

    /// Adds the rows that are missing in the table of indexes.
    fn enter(&mut self) {
        let Self { rows, places, .. } = self;
        let hash_at = |place: &u32| rows.get(*place as usize).map_or(0, hash);
        for place in places.len()..rows.len() {
            let place = u32::try_from(place).unwrap_or(u32::MAX);
            places.insert_unique(hash_at(&place), place, hash_at);
        }
    }

    /// Returns the id of `row`, if it is in the table.
    #[must_use]
    pub fn find(&self, row: &T) -> Option<I> {
        if self.places.is_empty() {
            return self.rows.iter().position(|it| it == row).map(I::from_index);
        }
        let same = |place: &u32| self.rows.get(*place as usize).is_some_and(|it| it == row);
        self.places.find(hash(row), same).map(|place| I::from_index(*place as usize))
    }

    /// Returns the row of an id.
    #[must_use]
    pub fn get(&self, id: I) -> Option<&T> {
        self.rows.get(id.index())
    }

    /// Returns all rows in the order of their ids.
    #[must_use]
    pub fn rows(&self) -> &[T] {
        &self.rows
    }

    /// Returns all rows, without the means to find them.
    #[must_use]
    pub fn into_rows(self) -> Vec<T> {
        self.rows
    }
}

fn hash<T: Hash>(row: &T) -> u64 {
    FxBuildHasher.hash_one(row)
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl Id for $name {
            #[inline]
            fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).unwrap_or(u32::MAX))
            }

            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id! {
    /// A Ruby thread of one life: a native thread that Ruby reuses gets a new id. Never reused.
    ThreadId
}
id! {
    /// A distinct VM handle in the tables of a generation; in a [`crate::profile::Profile`], a function.
    FunctionId
}
id! {
    /// A function at a line.
    FrameId
}
id! {
    /// A node of the tree of stacks: a frame and its callers.
    StackId
}
id! {
    /// A row of a [`crate::profile::Profile`], or of one that is being built.
    RowId
}
id! {
    /// A label set; [`LabelSetId::NONE`] is the empty one.
    LabelSetId
}
id! {
    /// The request or job that a record belongs to, so that trace ids need not be labels.
    ScopeId
}
id! {
    /// A span among those in the rows of a session; [`SpanIndex::NONE`] stands for none.
    SpanIndex
}

impl ThreadId {
    /// Represents all threads that are not registered, in records of memory: those that are not Ruby's, and those of
    /// other Ractors.
    pub const OTHERS: Self = Self(u32::MAX - 2);
}

impl LabelSetId {
    /// No labels.
    pub const NONE: Self = Self(0);
}

impl ScopeId {
    /// Outside every scope.
    pub const NONE: Self = Self(0);
}

impl SpanIndex {
    /// Outside every span.
    pub const NONE: Self = Self(u32::MAX);
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn equal_rows_share_one_id() {
        let mut interner: Interner<String, RowId> = Interner::default();
        for round in 0..2 {
            for place in 0..100 * FEW {
                assert_eq!(interner.find(&place.to_string()).is_some(), round > 0, "{place}");
                assert_eq!(interner.intern(place.to_string()).index(), place);
            }
        }
        assert_eq!(interner.rows().len(), 100 * FEW);
    }
}
