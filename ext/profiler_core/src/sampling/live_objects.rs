//! The table of live objects: sampled objects that have not been freed yet, by address.
//!
//! The table is allocated once, with its whole capacity. Nothing here allocates afterwards, as hooks write to
//! it where objects are allocated and freed. Most freed objects are not in the table, so a small table of
//! counts is checked first.

use ::core::prelude::rust_2021::*;
use ::std::boxed::Box;
use ::std::collections::HashSet;
use ::std::mem::size_of;
use ::std::vec; // only where the table is allocated
use ::std::vec::Vec;

use crate::record::ObjectId;

/// A live object and its weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveObject {
    /// The object's slot in the table, and the slot's generation.
    pub id: ObjectId,
    /// The weight in objects.
    pub objects: u64,
    /// The weight in bytes.
    pub bytes: u64,
    /// The number of garbage collections before the allocation; of a block of memory, its time on the monotonic
    /// clock, ns.
    pub allocated_at: u64,
    /// False if there was no space for its record, so that no session knows it.
    pub recorded: bool,
    /// The number of the name of a block's owner, if that was looked for.
    pub owner: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// The address; 0 in a free slot.
    address: u64,
    objects: u64,
    bytes: u64,
    allocated_at: u64,
    generation: u32,
    /// The next free slot, plus one.
    next_free: u32,
}

/// A table of fixed size, with an index by address.
#[derive(Debug)]
pub struct LiveObjects {
    entries: Box<[Entry]>,
    /// Slots plus one, by the hash of the address, with open addressing.
    index: Box<[u32]>,
    /// The approximate number of live objects with that hash. A count that has overflowed stays at its
    /// maximum.
    filter: Box<[u8]>,
    /// The first free slot below `used`, plus one.
    free: u32,
    used: u32,
    live: u32,
    refused: u64,
}

/// The number of counts: so many that two addresses seldom share one.
const FILTER: usize = 1 << 16;
const FULL: u8 = u8::MAX;

impl LiveObjects {
    /// Creates a table for `capacity` objects, a power of two below 2^31. Returns `None` if there is not
    /// enough memory.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Option<Self> {
        let capacity = capacity.clamp(2, 1 << 30).next_power_of_two();
        // Failing to allocate zeroed memory would end the process, so we first try to reserve the same
        // amount.
        let bytes = capacity * (size_of::<Entry>() + 2 * size_of::<u32>()) + FILTER;
        Vec::<u8>::new().try_reserve_exact(bytes).ok()?;
        Some(Self {
            entries: vec![Entry::default(); capacity].into(),
            index: vec![0; capacity * 2].into(),
            filter: vec![0; FILTER].into(),
            free: 0,
            used: 0,
            live: 0,
            refused: 0,
        })
    }

    /// Empties the table.
    pub fn clear(&mut self) {
        for entry in self.entries.iter_mut().take(self.used as usize) {
            // Generations continue, so an id is never reused.
            *entry = Entry { generation: entry.generation, ..Entry::default() };
        }
        self.index.fill(0);
        self.filter.fill(0);
        (self.free, self.used, self.live, self.refused) = (0, 0, 0, 0);
    }

    /// Returns the number of live objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.live as usize
    }

    /// Returns whether there are no live objects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Returns the number of objects for which there was no free slot since the table was cleared.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Adds the object at `address`, allocated after `allocated_at` garbage collections. An object that was
    /// there before is gone, as an address holds one object at a time. Returns `None` if no slot is free.
    pub fn insert(&mut self, address: u64, allocated_at: u64) -> Option<ObjectId> {
        self.remove(address);
        let slot = match self.free.checked_sub(1) {
            Some(slot) => {
                self.free = self.entries.get(slot as usize)?.next_free;
                slot
            }
            None if (self.used as usize) < self.entries.len() => {
                self.used += 1;
                self.used - 1
            }
            None => {
                self.refused += 1;
                return None;
            }
        };
        let entry = self.entries.get_mut(slot as usize)?;
        let generation = entry.generation.wrapping_add(1);
        *entry = Entry { address, objects: 0, bytes: 0, allocated_at, generation, next_free: 0 };
        self.live += 1;
        self.enter(address, slot);
        Some(ObjectId { slot, generation })
    }

    /// Sets the weight of an object if it is still in the table.
    pub fn set_weight(&mut self, id: ObjectId, objects: u64, bytes: u64) {
        let entry = self.entries.get_mut(id.slot as usize);
        if let Some(entry) = entry.filter(|it| it.generation == id.generation) {
            (entry.objects, entry.bytes) = (objects, bytes);
        }
    }

    /// Removes the object at `address`. Returns true if it was in the table.
    #[inline]
    pub fn remove(&mut self, address: u64) -> bool {
        let hash = hash(address);
        self.filter.get(filter_slot(hash)).is_some_and(|count| *count > 0) && self.leave(address, hash)
    }

    #[inline(never)]
    fn leave(&mut self, address: u64, hash: u64) -> bool {
        let Some((at, slot)) = self.find(address, hash) else { return false };
        if let Some(entry) = self.entries.get_mut(slot as usize) {
            (entry.address, entry.next_free) = (0, self.free);
            self.free = slot + 1;
        }
        self.live -= 1;
        self.close_gap(at);
        if let Some(count) = self.filter.get_mut(filter_slot(hash)).filter(|it| **it < FULL) {
            *count -= 1;
        }
        true
    }

    /// Iterates over all live objects.
    pub fn iter(&self) -> impl Iterator<Item = LiveObject> + '_ {
        let entries = self.entries.iter().take(self.used as usize).enumerate();
        entries.filter(|(_, it)| it.address != 0).map(|(slot, it)| LiveObject {
            id: ObjectId { slot: slot as u32, generation: it.generation },
            objects: it.objects,
            bytes: it.bytes,
            allocated_at: it.allocated_at,
            recorded: true,
            owner: None,
        })
    }

    /// Updates the addresses after objects were moved; `moved` maps an old address to the new one.
    pub fn relocate(&mut self, mut moved: impl FnMut(u64) -> u64) {
        self.index.fill(0);
        self.filter.fill(0);
        for slot in 0..self.used {
            let Some(entry) = self.entries.get_mut(slot as usize).filter(|it| it.address != 0) else {
                continue;
            };
            entry.address = moved(entry.address);
            let address = entry.address;
            self.enter(address, slot);
        }
    }

    fn enter(&mut self, address: u64, slot: u32) {
        let hash = hash(address);
        if let Some(count) = self.filter.get_mut(filter_slot(hash)) {
            *count = count.saturating_add(1);
        }
        let mut at = self.home(hash);
        while self.index.get(at).is_some_and(|it| *it != 0) {
            at = self.after(at);
        }
        if let Some(entry) = self.index.get_mut(at) {
            *entry = slot + 1;
        }
    }

    /// Finds an address: its position in the index, and its slot.
    fn find(&self, address: u64, hash: u64) -> Option<(usize, u32)> {
        let mut at = self.home(hash);
        loop {
            let slot = self.index.get(at)?.checked_sub(1)?;
            if self.entries.get(slot as usize)?.address == address {
                return Some((at, slot));
            }
            at = self.after(at);
        }
    }

    /// Moves entries forward that are behind the gap only because the gap was occupied.
    fn close_gap(&mut self, mut gap: usize) {
        let mut at = gap;
        loop {
            at = self.after(at);
            let Some(slot) = self.index.get(at).and_then(|it| it.checked_sub(1)) else { break };
            let address = self.entries.get(slot as usize).map_or(0, |it| it.address);
            let home = self.home(hash(address));
            // Compare how far `at` is from home and from the gap: an entry only moves backwards, and not past
            // its home.
            let mask = self.index.len() - 1;
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(gap) & mask {
                self.index.swap(gap, at);
                gap = at;
            }
        }
        if let Some(entry) = self.index.get_mut(gap) {
            *entry = 0;
        }
    }

    fn home(&self, hash: u64) -> usize {
        (hash >> 16) as usize & (self.index.len() - 1)
    }

    fn after(&self, at: usize) -> usize {
        (at + 1) & (self.index.len() - 1)
    }

    /// Returns whether every entry can be found and the index has no others. For tests.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let entries = self.entries.iter().take(self.used as usize);
        let found = |it: &Entry| it.address == 0 || self.find(it.address, hash(it.address)).is_some();
        let slots: HashSet<u32> = self.index.iter().copied().filter(|it| *it != 0).collect();
        entries.clone().all(found)
            && slots.len() == self.len()
            && entries.filter(|it| it.address != 0).count() == self.len()
    }
}

#[inline]
fn hash(address: u64) -> u64 {
    (address >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[inline]
fn filter_slot(hash: u64) -> usize {
    (hash >> 48) as usize % FILTER
}

#[cfg(all(test, not(loom)))]
mod tests;
