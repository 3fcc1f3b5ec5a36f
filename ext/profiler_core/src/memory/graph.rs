//! The graph of Ruby's objects: what each refers to, as the VM marks it.
//!
//! It is built in a copy of the process, in tables that its caller makes. A node is a place for a slot, used
//! or not, by its number in the order of addresses. The root is one more node, and refers to all that the VM
//! marks without an object.

use ::core::option::Option::{self, Some};
use ::core::prelude::rust_2021::*;

use super::census::RubyPage;
use super::index::Table;
use super::pages::{Memory, Source};
use super::slots::HeapSlot;

/// The kinds of tables to fill, which grow without malloc.
pub trait TableKinds {
    /// A table of numbers.
    type Numbers: Table<u32> + Default;
    /// A table of sums.
    type Sums: Table<u64> + Default;
}

/// Creates a table of so many equal rows. `None` if there is no room.
pub fn filled<T: Copy, R: Table<T> + Default>(rows: usize, value: T) -> Option<R> {
    let mut table = R::default();
    (0..rows).all(|_| table.push(value)).then_some(table)
}

/// A reference of the VM's that is in no object, in the order in which paths begin there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Root {
    /// A global variable.
    Global,
    /// An address that C code has registered.
    Registered,
    /// A finalizer, or a block of `at_exit`.
    AtEnd,
    /// The VM itself: its threads, and what it needs.
    Vm,
    /// The stack of the thread that took the snapshot.
    Stack,
}

impl Root {
    /// All roots, in the order of their numbers.
    pub const ALL: [Root; 5] = [Root::Global, Root::Registered, Root::AtEnd, Root::Vm, Root::Stack];
}

/// The objects to which the VM refers, each with why.
pub struct Roots<N> {
    /// The [`Root`] of each.
    pub categories: N,
    /// The node of each.
    pub nodes: N,
}

/// The VM in the copy of the process.
pub trait Vm {
    /// Passes on each object to which this one refers.
    fn references(&mut self, object: u64, found: &mut dyn FnMut(u64));
    /// Passes on each object to which the VM refers.
    fn roots(&mut self, found: &mut dyn FnMut(Root, u64));
}

/// The places for slots, as numbers.
pub struct Places<'tables, N> {
    pages: &'tables [RubyPage],
    /// The number of the first slot of each page, and the number of all.
    bases: N,
}

impl<'tables, N: Table<u32>> Places<'tables, N> {
    /// Numbers the slots of these pages, which are in the order of their addresses. `None` if there is no
    /// room.
    pub fn new(pages: &'tables [RubyPage], mut bases: N) -> Option<Self> {
        let mut next = 0;
        let has_room = pages.iter().all(|page| {
            let is_kept = bases.push(next);
            next += slots_of(page) as u32;
            is_kept
        });
        (has_room && bases.push(next)).then_some(Self { pages, bases })
    }

    /// Returns the number of places, which is that of the root.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.bases.rows().last().copied().unwrap_or(0)
    }

    /// Returns the number of the slot at an address.
    #[inline]
    #[must_use]
    pub fn find(&self, address: u64) -> Option<u32> {
        let number = self.pages.partition_point(|page| page.end <= address);
        let page = self.pages.get(number).filter(|page| page.first <= address)?;
        let place = (address - page.first) / page.slot.max(1);
        Some(self.bases.rows().get(number)? + place as u32)
    }

    /// Returns the address of the slot with this number, and its bytes.
    #[must_use]
    pub fn slot(&self, number: u32) -> Option<(u64, u64)> {
        let page = self.bases.rows().partition_point(|base| *base <= number).checked_sub(1)?;
        let base = self.bases.rows().get(page)?;
        let page = self.pages.get(page)?;
        Some((page.first + u64::from(number - base) * page.slot, page.slot))
    }

    /// Passes each place, in order, with its address, its bytes, and its object if there is one.
    pub fn each<M: Source>(
        &self,
        memory: &Memory<'_, M>,
        mut found: impl FnMut(u32, u64, u64, Option<HeapSlot>),
    ) {
        let mut number = 0;
        for page in self.pages {
            let first = (0..slots_of(page)).map(|place| page.first + place * page.slot);
            first.for_each(|address| {
                found(number, address, page.slot, slot_at(memory, address));
                number += 1;
            });
        }
    }
}

fn slots_of(page: &RubyPage) -> u64 {
    page.end.saturating_sub(page.first) / page.slot.max(1)
}

/// Returns the object in the slot at an address.
#[must_use]
pub fn slot_at<M: Source>(memory: &Memory<'_, M>, address: u64) -> Option<HeapSlot> {
    HeapSlot::new(memory.word(address)?, memory.word(address + 8)?)
}

/// The references of all nodes, the root's last.
pub struct Graph<N> {
    /// The index of the first reference of each node in `targets`; the last row is the number of all.
    firsts: N,
    targets: N,
}

impl<N: Table<u32>> Graph<N> {
    /// Creates a graph without nodes.
    pub fn new(firsts: N, targets: N) -> Self {
        Self { firsts, targets }
    }

    /// Adds the next node, to which `add` adds references. Returns false if there is no room.
    pub fn node(&mut self, add: impl FnOnce(&mut N)) -> bool {
        if self.firsts.count() == 0 && !self.firsts.push(0) {
            return false;
        }
        add(&mut self.targets);
        self.firsts.push(self.targets.count() as u32)
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn count(&self) -> usize {
        self.firsts.count().saturating_sub(1)
    }

    /// Returns the number of references.
    #[must_use]
    pub fn references(&self) -> usize {
        self.targets.count()
    }

    /// Returns the nodes to which a node refers.
    #[inline]
    #[must_use]
    pub fn targets(&self, node: u32) -> &[u32] {
        let firsts = self.firsts.rows();
        let end = |place: usize| firsts.get(place).map_or(0, |it| *it as usize);
        self.targets.rows().get(end(node as usize)..end(node as usize + 1)).unwrap_or(&[])
    }
}

#[cfg(all(test, not(loom)))]
pub(super) mod tests {
    use super::*;
    use ::core::option::Option::None;
    use ::std::vec::Vec;
    use ::std::{assert_eq, vec};

    pub(crate) struct Vecs;

    impl TableKinds for Vecs {
        type Numbers = Vec<u32>;
        type Sums = Vec<u64>;
    }

    pub(crate) fn graph(nodes: &[&[u32]]) -> Graph<Vec<u32>> {
        let mut graph = Graph::new(vec![], vec![]);
        for targets in nodes {
            graph.node(|all| all.extend_from_slice(targets));
        }
        graph
    }

    #[test]
    fn numbers_slots_and_finds_them() {
        let pages = [
            RubyPage { first: 0x1010, end: 0x1010 + 3 * 40, slot: 40 },
            RubyPage { first: 0x2000, end: 0x2000 + 2 * 160 + 8, slot: 160 },
        ];
        let places = Places::new(&pages, vec![]).unwrap();
        assert_eq!(places.count(), 5);
        let addresses: Vec<_> = (0..5).map(|number| places.slot(number).unwrap().0).collect();
        assert_eq!(addresses, [0x1010, 0x1038, 0x1060, 0x2000, 0x20a0]);
        let found: Vec<_> = addresses.iter().map(|address| places.find(*address)).collect();
        assert_eq!(found, (0..5).map(Some).collect::<Vec<_>>());
        assert_eq!([0x1000, 0x1900, 0x3000].map(|address| places.find(address)), [None; 3]);
    }

    #[test]
    fn keeps_references() {
        let graph = graph(&[&[1, 2], &[], &[0]]);
        assert_eq!((graph.count(), graph.references()), (3, 3));
        assert_eq!(
            [0, 1, 2, 3].map(|node| graph.targets(node).to_vec()),
            [vec![1, 2], vec![], vec![0], vec![]]
        );
    }
}
