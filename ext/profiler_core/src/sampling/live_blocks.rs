//! The table of live blocks: sampled blocks of memory that have not been freed yet, by address.
//!
//! Hooks on malloc and free write to it on any thread, with or without the GVL, and never wait for one another.
//! A block has one owner: the thread that has just allocated it adds it, and the thread that is about to free it
//! removes it. So no two threads work on one address at a time, and different addresses only compete for slots.
//!
//! A block is in one of the few slots after its hash, which are always searched all. Removing leaves no trace, so
//! nothing is ever moved. Most freed blocks are not in the table, so a small table of counts is asked first.
//!
//! Addresses are stored in a form that is no address, or a search for references to a block would find ours.

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicU32, AtomicU64, AtomicU8, Ordering};

use crate::record::ObjectId;
use crate::sampling::live_objects::LiveObject;

/// The number of slots that are searched for a block.
const WINDOW: usize = 32;
/// The number of counts: so many that two sampled blocks seldom share one.
const FILTER: usize = 1 << 16;
const FULL: u8 = u8::MAX;

/// Changes an address into a word that is none. As it is odd, no used slot has the word 0.
const MASK: u64 = 0x5a5a_9696_3c3c_a5a5;
/// In place of an address, in a slot that is being filled.
const BUSY: u64 = 1;
/// The bit of a number of blocks that says that no session knows them.
const UNRECORDED: u64 = 1 << 63;
const ADDRESS_BITS: u32 = 48;
const ADDRESS: u64 = (1 << ADDRESS_BITS) - 1;

/// A table with `SLOTS` slots, a power of two. All zeros while it is empty.
#[derive(Debug)]
pub struct LiveBlocks<const SLOTS: usize> {
    /// The address in each slot with the round in which it was added; 0 if there was never one.
    words: [AtomicU64; SLOTS],
    blocks: [AtomicU64; SLOTS],
    bytes: [AtomicU64; SLOTS],
    /// The times of allocation, on the monotonic clock.
    times_ns: [AtomicU64; SLOTS],
    generations: [AtomicU32; SLOTS],
    /// The approximate number of blocks with that hash. A count that has overflowed stays at its maximum.
    filter: [AtomicU8; FILTER],
    /// The number of times that the table was cleared. Words of earlier rounds count as free.
    round: AtomicU64,
    refused: AtomicU64,
}

/// A block that was taken out of the table while it is resized. Its slot is reserved for it.
#[derive(Debug)]
#[must_use = "its slot stays reserved until it is released"]
pub struct HeldBlock {
    slot: usize,
    word: u64,
    /// The word in the slot while it is reserved.
    reserved: u64,
    hash: u64,
}

impl<const SLOTS: usize> Default for LiveBlocks<SLOTS> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const SLOTS: usize> LiveBlocks<SLOTS> {
    /// Creates an empty table.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            words: [const { AtomicU64::new(0) }; SLOTS],
            blocks: [const { AtomicU64::new(0) }; SLOTS],
            bytes: [const { AtomicU64::new(0) }; SLOTS],
            times_ns: [const { AtomicU64::new(0) }; SLOTS],
            generations: [const { AtomicU32::new(0) }; SLOTS],
            filter: [const { AtomicU8::new(0) }; FILTER],
            round: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }

    /// Empties the table. Blocks that other threads add meanwhile may be lost.
    pub fn clear(&self) {
        self.round.fetch_add(1, Ordering::Relaxed);
        self.filter.iter().for_each(|it| it.store(0, Ordering::Relaxed));
        self.refused.store(0, Ordering::Relaxed);
    }

    /// Returns the number of blocks for which there was no free slot since the table was cleared.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Adds a block that the calling thread has just allocated, at that time on the monotonic clock. If one is there already, it was freed unseen.
    /// Returns `None` if no slot is free.
    ///
    /// # Signal safety
    /// Atomic operations on at most [`WINDOW`] slots.
    pub fn insert(&self, address: u64, blocks: u64, bytes: u64, at_ns: u64) -> Option<ObjectId> {
        self.remove(address);
        let hash = hash(address);
        let Some(slot) = self.window(hash).find(|slot| self.claim(*slot)) else {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return None;
        };
        self.blocks.get(slot)?.store(blocks, Ordering::Relaxed);
        self.bytes.get(slot)?.store(bytes, Ordering::Relaxed);
        self.times_ns.get(slot)?.store(at_ns, Ordering::Relaxed);
        let generation = self.generations.get(slot)?.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        self.count(hash, |it| it.checked_add(1));
        // Release pairs with the Acquire in `live`.
        self.words.get(slot)?.store(self.word(address), Ordering::Release);
        Some(ObjectId { slot: slot as u32, generation })
    }

    /// Notes that no session knows a block, as there was no space for its record. Only for the thread that has
    /// just added it.
    pub fn note_unrecorded(&self, id: ObjectId) {
        if let Some(blocks) = self.blocks.get(id.slot as usize) {
            blocks.fetch_or(UNRECORDED, Ordering::Relaxed);
        }
    }

    /// Removes a block that the calling thread is about to free. Returns true if it was in the table.
    ///
    /// # Signal safety
    /// Usually one read; otherwise atomic operations on at most [`WINDOW`] slots.
    #[inline]
    pub fn remove(&self, address: u64) -> bool {
        self.may_have(address) && self.hold(address).map(|held| self.release(&held, true)).is_some()
    }

    /// Returns false if a block is certainly not in the table.
    ///
    /// # Signal safety
    /// One read.
    #[inline]
    pub fn may_have(&self, address: u64) -> bool {
        self.filter.get(filter_place(hash(address))).is_some_and(|it| it.load(Ordering::Relaxed) > 0)
    }

    /// Takes a block out of the table that the calling thread is about to resize, until [`Self::release`].
    /// Returns `None` if it was not in the table.
    ///
    /// # Signal safety
    /// Same as for [`Self::remove`].
    pub fn hold(&self, address: u64) -> Option<HeldBlock> {
        let hash = hash(address);
        let (word, reserved) = (self.word(address), self.word(BUSY));
        let hold = |slot: &usize| {
            // The exchange keeps a program that frees a block twice from counting it twice.
            self.words.get(*slot).is_some_and(|found| {
                found.compare_exchange(word, reserved, Ordering::Relaxed, Ordering::Relaxed).is_ok()
            })
        };
        let slot = self.window(hash).find(hold)?;
        Some(HeldBlock { slot, word, reserved, hash })
    }

    /// Removes a block that is held, or puts it back if it was not freed after all.
    ///
    /// # Signal safety
    /// A few atomic operations.
    pub fn release(&self, held: &HeldBlock, is_freed: bool) {
        let Some(word) = self.words.get(held.slot) else { return };
        let next = if is_freed { 0 } else { held.word };
        // If the table was cleared meanwhile, another block may have the slot. Release pairs with the Acquire in
        // `live`.
        let is_ours =
            word.compare_exchange(held.reserved, next, Ordering::Release, Ordering::Relaxed).is_ok();
        if is_freed && is_ours {
            self.count(held.hash, |it| it.checked_sub(1));
        }
    }

    /// Iterates over the live blocks, with their addresses. Those that other threads add or remove during the
    /// iteration may be among them.
    pub fn live(&self) -> impl Iterator<Item = (u64, LiveObject)> + '_ {
        (0..SLOTS).filter_map(|slot| {
            let word = self.words.get(slot)?;
            let before = word.load(Ordering::Acquire);
            if !self.is_used(before) || self.address_in(before) == BUSY {
                return None;
            }
            let id = ObjectId {
                slot: slot as u32,
                generation: self.generations.get(slot)?.load(Ordering::Acquire),
            };
            let objects = self.blocks.get(slot)?.load(Ordering::Acquire);
            let bytes = self.bytes.get(slot)?.load(Ordering::Acquire);
            let allocated_at = self.times_ns.get(slot)?.load(Ordering::Acquire);
            let is_same = word.load(Ordering::Relaxed) == before;
            let (objects, recorded) = (objects & !UNRECORDED, objects & UNRECORDED == 0);
            let block = LiveObject { id, objects, bytes, allocated_at, recorded, owner: None };
            is_same.then_some((self.address_in(before), block))
        })
    }

    /// Claims a slot that is free. Returns whether it was.
    fn claim(&self, slot: usize) -> bool {
        let Some(word) = self.words.get(slot) else { return false };
        let found = word.load(Ordering::Relaxed);
        let claim = || word.compare_exchange(found, self.word(BUSY), Ordering::Acquire, Ordering::Relaxed);
        !self.is_used(found) && claim().is_ok()
    }

    fn word(&self, address: u64) -> u64 {
        (self.round.load(Ordering::Relaxed) << ADDRESS_BITS | address & ADDRESS) ^ MASK
    }

    /// Returns whether a slot with this word is in use in this round.
    fn is_used(&self, word: u64) -> bool {
        word != 0 && (word ^ self.word(0)) >> ADDRESS_BITS == 0
    }

    fn address_in(&self, word: u64) -> u64 {
        (word ^ MASK) & ADDRESS
    }

    fn window(&self, hash: u64) -> impl Iterator<Item = usize> {
        (0..WINDOW).map(move |step| (hash as usize >> 8).wrapping_add(step) & (SLOTS - 1))
    }

    /// Changes the count of a hash, unless it is at its maximum.
    fn count(&self, hash: u64, change: impl Fn(u8) -> Option<u8>) {
        let Some(count) = self.filter.get(filter_place(hash)) else { return };
        let next = |it: u8| if it == FULL { None } else { change(it) };
        let _ = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    }
}

/// Blocks are aligned to 16 bytes.
#[inline]
fn hash(address: u64) -> u64 {
    (address >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[inline]
fn filter_place(hash: u64) -> usize {
    (hash >> 48) as usize
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use ::std::boxed::Box;
    use ::std::collections::BTreeMap;
    use ::std::thread;
    use ::std::vec::Vec;
    use ::std::{assert, assert_eq};

    const SLOTS: usize = 1 << 10;
    type Table = LiveBlocks<SLOTS>;

    fn table() -> &'static Table {
        Box::leak(Box::new(Table::new()))
    }

    fn sum(table: &Table) -> (usize, u64) {
        let live: Vec<_> = table.live().map(|it| it.1).collect();
        (live.len(), live.iter().map(|it| it.bytes).sum())
    }

    #[test]
    fn follows_a_map_whatever_is_added_and_removed() {
        let (table, mut known) = (table(), BTreeMap::new());
        let mut bits: u64 = 0x1234_5678_9abc_def1;
        for step in 0..100_000 {
            bits = crate::rng::after(bits);
            let address = 0x7f00_0000_0000 | (bits % 700) << 4;
            if bits >> 40 & 1 == 0 {
                let id = table.insert(address, 1, step, 0);
                let slot = id.expect("there is space").slot;
                known.insert(address, (slot, step));
            } else {
                assert_eq!(table.remove(address), known.remove(&address).is_some(), "{address:x}");
            }
        }
        let expected: BTreeMap<u32, u64> = known.values().copied().collect();
        assert_eq!(table.live().map(|(_, it)| (it.id.slot, it.bytes)).collect::<BTreeMap<_, _>>(), expected);
    }

    #[test]
    fn a_held_block_is_out_of_the_table_and_can_come_back() {
        let table = table();
        let id = table.insert(0x1000, 1, 500, 7);
        let held = table.hold(0x1000).unwrap();
        assert!(table.hold(0x1000).is_none() && !table.remove(0x1000));
        assert_eq!(sum(table), (0, 0));
        table.release(&held, false);
        assert_eq!(
            table.live().map(|(address, it)| (address, Some(it.id))).collect::<Vec<_>>(),
            [(0x1000, id)]
        );
        let held = table.hold(0x1000).unwrap();
        table.release(&held, true);
        assert_eq!((sum(table), table.remove(0x1000)), ((0, 0), false));

        let held = table.insert(0x1000, 1, 500, 7).and_then(|_| table.hold(0x1000)).unwrap();
        table.clear();
        table.insert(0x1000, 1, 600, 8); // in the same slot
        table.release(&held, false);
        assert_eq!(sum(table), (1, 600));
    }

    #[test]
    fn a_slot_has_another_generation_for_each_block() {
        let table = table();
        let one = table.insert(0x1000, 1, 10, 0).unwrap();
        assert!(table.remove(0x1000) && !table.remove(0x1000));
        let other = table.insert(0x1000, 1, 20, 0).unwrap();
        assert_eq!((other.slot, other.generation), (one.slot, one.generation + 1));
    }

    #[test]
    fn a_block_without_a_record_says_so() {
        let table = table();
        table.insert(0x1000, 3, 10, 7).unwrap();
        table.note_unrecorded(table.insert(0x2000, 5, 20, 9).unwrap());
        let mut live: Vec<_> =
            table.live().map(|(_, it)| (it.objects, it.bytes, it.allocated_at, it.recorded)).collect();
        live.sort_unstable();
        assert_eq!(live, [(3, 10, 7, true), (5, 20, 9, false)]);
    }

    #[test]
    fn no_word_of_the_table_is_an_address_in_it() {
        let table = table();
        for address in (0x7f00_0000_0000..).step_by(16).take(500) {
            table.insert(address, 1, 1, 0);
        }
        let addresses = 0x7f00_0000_0000..0x7f00_0001_0000;
        assert!(!table.words.iter().any(|it| addresses.contains(&it.load(Ordering::Relaxed))));
    }

    #[test]
    fn a_cleared_table_is_empty_and_has_all_of_its_space() {
        let table = table();
        for round in 0..5 {
            for block in 1..=SLOTS as u64 / 2 {
                assert!(table.insert(block << 4, 1, 8, 0).is_some(), "{round} {block}");
            }
            assert_eq!(sum(table), (SLOTS / 2, SLOTS as u64 * 4));
            table.clear();
            assert_eq!(sum(table), (0, 0));
            assert!(!table.remove(16));
        }
    }

    #[test]
    fn a_full_table_refuses_and_counts() {
        let table = table();
        let added = (1..=4 * SLOTS as u64).filter(|it| table.insert(it << 4, 1, 1, 0).is_some()).count();
        assert_eq!(sum(table).0, added);
        assert_eq!(table.refused(), 4 * SLOTS as u64 - added as u64);
        assert!(added > SLOTS / 2);
    }

    #[test]
    fn threads_add_and_remove_at_once() {
        let table = table();
        let work = |thread: u64| {
            let mut own = Vec::new();
            let mut bits = thread.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            for step in 0..50_000_u64 {
                bits = crate::rng::after(bits);
                let address = 0x7f00_0000_0000 | thread << 32 | (step % 2_000) << 4;
                if own.len() > 60 {
                    let at = bits as usize % own.len();
                    assert!(table.remove(own.swap_remove(at)), "a block that was added is found");
                }
                if !own.contains(&address) && table.insert(address, 1, thread, 0).is_some() {
                    own.push(address);
                }
            }
            own.len()
        };
        let threads: Vec<_> = (0..4).map(|it| thread::spawn(move || work(it))).collect();
        let left: usize = threads.into_iter().map(|it| it.join().unwrap()).sum();
        assert_eq!(sum(table).0, left);
    }
}
