//! Newtype ids, and the one way to make them: no bare integer leaves the table that it indexes.

use std::hash::Hash;
use std::marker::PhantomData;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

/// An id is the place of a row in its table.
pub trait Id: Copy {
    /// The id of the place `index`. Tables stay far below 2^32 rows; past that the last id is given
    /// for ever, which is wrong but harmless.
    fn from_index(index: usize) -> Self;
    /// The place in the table.
    fn index(self) -> usize;
}

/// Gives equal things one id, in the order in which they first came.
#[derive(Clone, Debug)]
pub struct Interner<T, I> {
    rows: Vec<T>,
    ids: HashMap<T, u32, FxBuildHasher>,
    id: PhantomData<I>,
}

impl<T, I> Default for Interner<T, I> {
    fn default() -> Self {
        Self { rows: Vec::new(), ids: HashMap::default(), id: PhantomData }
    }
}

impl<T: Clone + Eq + Hash, I: Id> Interner<T, I> {
    /// The id of `row`, which is new if nothing equal was there.
    pub fn intern(&mut self, row: T) -> I {
        let place = *self.ids.entry(row).or_insert_with_key(|row| {
            self.rows.push(row.clone());
            u32::try_from(self.rows.len() - 1).unwrap_or(u32::MAX)
        });
        I::from_index(place as usize)
    }

    /// The id of `row`, if it is there.
    #[must_use]
    pub fn find(&self, row: &T) -> Option<I> {
        self.ids.get(row).map(|place| I::from_index(*place as usize))
    }

    /// The row behind an id.
    #[must_use]
    pub fn get(&self, id: I) -> Option<&T> {
        self.rows.get(id.index())
    }

    /// All rows, in the order of their ids.
    #[must_use]
    pub fn rows(&self) -> &[T] {
        &self.rows
    }

    /// All rows, without the means to find them.
    #[must_use]
    pub fn into_rows(self) -> Vec<T> {
        self.rows
    }
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
    /// A Ruby thread of one life: a native thread that Ruby uses again gets a new one. Never reused.
    ThreadId
}
id! {
    /// A distinct VM handle in the table of an epoch; in a [`crate::profile::Profile`], a function.
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
    /// A row of a [`crate::profile::Profile`], or of what is going to be one.
    RowId
}
id! {
    /// A set of labels; [`LabelSetId::NONE`] is the empty one.
    LabelSetId
}
id! {
    /// The request or job that a record belongs to, so that trace ids need not be labels.
    ScopeId
}

impl LabelSetId {
    /// No labels.
    pub const NONE: Self = Self(0);
}

impl ScopeId {
    /// Outside every scope.
    pub const NONE: Self = Self(0);
}
