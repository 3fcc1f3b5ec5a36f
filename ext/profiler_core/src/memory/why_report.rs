//! The answer to why objects are alive, in a form that two processes can share: only numbers, in tables of
//! fixed sizes.

use ::core::option::Option::Some;
use ::core::prelude::rust_2021::*;

/// The most groups of objects that are told apart.
pub const GROUPS: usize = 128;
/// The most steps of a path that are kept: half at its beginning, half at its end.
pub const STEPS: usize = 32;
/// A step of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Step {
    /// The address of the object.
    pub address: u64,
    /// The first word of the object's slot.
    pub flags: u64,
    /// The second word, the address of the class.
    pub class: u64,
    /// The key of its class, as for owners.
    pub key: u64,
    /// The bytes that it retains.
    pub retained: u64,
    /// Whether the last object of the path would be garbage without it.
    pub is_dominator: u64,
}

/// Objects that are alive for the same reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct HolderGroup {
    /// A hash of the reason.
    pub hash: u64,
    /// The number of objects; 0 if the row is empty.
    pub count: u64,
    /// The bytes that they retain together.
    pub retained: u64,
    /// The node that retains most of them, and its bytes.
    pub(super) example: u64,
    pub(super) of_example: u64,
    /// Where the path of that begins: a [`Root`](super::graph::Root), or [`AT_MODULE`].
    pub root: u64,
    /// The number of steps of the path.
    pub length: u64,
    /// The steps, from the object up. If there are more, those in the middle are missing.
    pub steps: [Step; STEPS],
}

/// The beginning of a path that is a module with a name.
pub const AT_MODULE: u64 = 100;

/// The findings. A report of zeros is an empty one.
#[derive(Debug)]
#[repr(C)]
pub struct WhyReport {
    /// The objects of the process.
    pub objects: u64,
    /// The references between them.
    pub references: u64,
    /// The bytes of all objects, with the memory of malloc that they have.
    pub bytes: u64,
    /// The objects that were asked for.
    pub count: u64,
    /// The bytes that they retain.
    pub retained: u64,
    /// The groups; an object without room for a group of its own is in none.
    pub groups: [HolderGroup; GROUPS],
    /// 1 if the report is complete.
    pub is_whole: u64,
}

impl WhyReport {
    /// Adds an object to its group.
    pub(super) fn add(&mut self, hash: u64, node: u32, retained: u64, is_inside: bool) {
        let first = (hash >> 7) as usize % GROUPS;
        let place = (first..GROUPS).chain(0..first).find(|place| {
            self.groups.get(*place).is_some_and(|group| group.count == 0 || group.hash == hash)
        });
        let Some(group) = place.and_then(|place| self.groups.get_mut(place)) else {
            return;
        };
        if group.count == 0 || retained > group.of_example {
            (group.example, group.of_example) = (u64::from(node), retained);
        }
        group.hash = hash;
        group.count += 1;
        group.retained += if is_inside { 0 } else { retained };
    }
}
