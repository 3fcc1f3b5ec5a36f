//! Objects that are followed up to their end, by address.
//!
//! Made once, with all the room that it will ever have: nothing here allocates afterwards, as it is written to where
//! objects are made and where they are freed. Most objects that are freed are not among these, so a look into a small
//! table of counts comes first.

use ::core::prelude::rust_2021::*;
use ::std::boxed::Box;
use ::std::collections::HashSet;
use ::std::vec; // only where the table is made

/// Who is followed: a place in the table, and the how manieth object there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TrackedId {
    /// Below the capacity.
    pub place: u32,
    /// Counts up at each place.
    pub generation: u32,
}

/// One that is alive, and what it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alive {
    /// Who.
    pub id: TrackedId,
    /// Objects.
    pub objects: u64,
    /// Bytes.
    pub bytes: u64,
    /// How many garbage collections there had been when it was made.
    pub born: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// 0 where nobody is.
    address: u64,
    objects: u64,
    bytes: u64,
    born: u64,
    generation: u32,
    /// The next free place, plus one.
    next_free: u32,
}

/// See the module.
#[derive(Debug)]
pub struct Tracked {
    entries: Box<[Entry]>,
    /// Places plus one, by the hash of the address; open addressing.
    index: Box<[u32]>,
    /// How many are followed with that hash, roughly; what has once been too many to count stays so.
    filter: Box<[u8]>,
    /// The first free place below `used`, plus one.
    free: u32,
    used: u32,
    alive: u32,
    refused: u64,
}

/// A cache line's worth of them has the counts of so many addresses that collisions are seldom.
const FILTER: usize = 1 << 16;
const FULL: u8 = u8::MAX;

impl Tracked {
    /// With room for `capacity` objects, a power of two below 2^31.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        let capacity = capacity.clamp(2, 1 << 30).next_power_of_two();
        Self {
            entries: vec![Entry::default(); capacity].into(),
            index: vec![0; capacity * 2].into(),
            filter: vec![0; FILTER].into(),
            free: 0,
            used: 0,
            alive: 0,
            refused: 0,
        }
    }

    /// Follows nobody any more.
    pub fn clear(&mut self) {
        for entry in self.entries.iter_mut().take(self.used as usize) {
            // Generations go on: an id is never given twice.
            *entry = Entry { generation: entry.generation, ..Entry::default() };
        }
        self.index.fill(0);
        self.filter.fill(0);
        (self.free, self.used, self.alive, self.refused) = (0, 0, 0, 0);
    }

    /// How many it follows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.alive as usize
    }

    /// Whether it follows nobody.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.alive == 0
    }

    /// How many objects it had no room for since it was cleared.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Follows the object at `address`, which was made after `born` garbage collections. One that is said to be there is
    /// gone, as an address has one object at a time. Nothing where there is no room.
    pub fn insert(&mut self, address: u64, born: u64) -> Option<TrackedId> {
        self.remove(address);
        let place = match self.free.checked_sub(1) {
            Some(place) => {
                self.free = self.entries.get(place as usize)?.next_free;
                place
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
        let entry = self.entries.get_mut(place as usize)?;
        let generation = entry.generation.wrapping_add(1);
        *entry = Entry { address, objects: 0, bytes: 0, born, generation, next_free: 0 };
        self.alive += 1;
        self.enter(address, place);
        Some(TrackedId { place, generation })
    }

    /// The object stands for so much, if it is still there.
    pub fn weigh(&mut self, id: TrackedId, objects: u64, bytes: u64) {
        let entry = self.entries.get_mut(id.place as usize);
        if let Some(entry) = entry.filter(|it| it.generation == id.generation) {
            (entry.objects, entry.bytes) = (objects, bytes);
        }
    }

    /// The object at `address` is no more. True if it was followed.
    #[inline]
    pub fn remove(&mut self, address: u64) -> bool {
        let hash = hash(address);
        self.filter.get(filter_place(hash)).is_some_and(|count| *count > 0) && self.leave(address, hash)
    }

    #[inline(never)]
    fn leave(&mut self, address: u64, hash: u64) -> bool {
        let Some((at, place)) = self.find(address, hash) else { return false };
        if let Some(entry) = self.entries.get_mut(place as usize) {
            (entry.address, entry.next_free) = (0, self.free);
            self.free = place + 1;
        }
        self.alive -= 1;
        self.close_gap(at);
        if let Some(count) = self.filter.get_mut(filter_place(hash)).filter(|it| **it < FULL) {
            *count -= 1;
        }
        true
    }

    /// All that are there.
    pub fn alive(&self) -> impl Iterator<Item = Alive> + '_ {
        let entries = self.entries.iter().take(self.used as usize).enumerate();
        entries.filter(|(_, it)| it.address != 0).map(|(place, it)| Alive {
            id: TrackedId { place: place as u32, generation: it.generation },
            objects: it.objects,
            bytes: it.bytes,
            born: it.born,
        })
    }

    /// Objects have been moved: `moved` says where one that was at an address is.
    pub fn relocate(&mut self, mut moved: impl FnMut(u64) -> u64) {
        self.index.fill(0);
        self.filter.fill(0);
        for place in 0..self.used {
            let Some(entry) = self.entries.get_mut(place as usize).filter(|it| it.address != 0) else {
                continue;
            };
            entry.address = moved(entry.address);
            let address = entry.address;
            self.enter(address, place);
        }
    }

    fn enter(&mut self, address: u64, place: u32) {
        let hash = hash(address);
        if let Some(count) = self.filter.get_mut(filter_place(hash)) {
            *count = count.saturating_add(1);
        }
        let mut at = self.home(hash);
        while self.index.get(at).is_some_and(|it| *it != 0) {
            at = self.after(at);
        }
        if let Some(room) = self.index.get_mut(at) {
            *room = place + 1;
        }
    }

    /// Where in the index, and in the table.
    fn find(&self, address: u64, hash: u64) -> Option<(usize, u32)> {
        let mut at = self.home(hash);
        loop {
            let place = self.index.get(at)?.checked_sub(1)?;
            if self.entries.get(place as usize)?.address == address {
                return Some((at, place));
            }
            at = self.after(at);
        }
    }

    /// Who stands behind a gap only because there was none moves up.
    fn close_gap(&mut self, mut gap: usize) {
        let mut at = gap;
        loop {
            at = self.after(at);
            let Some(place) = self.index.get(at).and_then(|it| it.checked_sub(1)) else { break };
            let address = self.entries.get(place as usize).map_or(0, |it| it.address);
            let home = self.home(hash(address));
            // How far each is from home, seen from there: only backwards, and not past it.
            let mask = self.index.len() - 1;
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(gap) & mask {
                self.index.swap(gap, at);
                gap = at;
            }
        }
        if let Some(room) = self.index.get_mut(gap) {
            *room = 0;
        }
    }

    fn home(&self, hash: u64) -> usize {
        (hash >> 16) as usize & (self.index.len() - 1)
    }

    fn after(&self, at: usize) -> usize {
        (at + 1) & (self.index.len() - 1)
    }

    /// Whether every entry can be found, and nothing else is in the index. For tests.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let entries = self.entries.iter().take(self.used as usize);
        let found = |it: &Entry| it.address == 0 || self.find(it.address, hash(it.address)).is_some();
        let places: HashSet<u32> = self.index.iter().copied().filter(|it| *it != 0).collect();
        entries.clone().all(found)
            && places.len() == self.len()
            && entries.filter(|it| it.address != 0).count() == self.len()
    }
}

#[inline]
fn hash(address: u64) -> u64 {
    (address >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[inline]
fn filter_place(hash: u64) -> usize {
    (hash >> 48) as usize % FILTER
}

#[cfg(all(test, not(loom)))]
mod tests;
