//! The owner of each chunk: the first that refers to it, directly or through other chunks.

use ::core::option::Option::{self, None, Some};
use ::core::prelude::rust_2021::*;

use super::arena::Chunk;
use super::index::Index;
use super::mapping::PAGE;
use super::pages::{Memory, Source};
use super::slots::Contents;

/// An owner, by its number from 1 on, with the flag below.
pub type Owner = u32;

/// No owner: nothing that was scanned refers to the chunk.
pub const NOBODY: Owner = 0;
/// The chunk is reached through other chunks of the owner.
pub const BEHIND: Owner = 1 << 31;

/// The largest chunk that can be the head of a Hash's table.
const HASH_TABLE_HEAD: u64 = 64;
/// In the queue: the chunks that are found in this one refer to no others.
const LAST: u32 = 1 << 31;

/// Returns the number of an owner without its flag.
#[must_use]
pub fn number(owner: Owner) -> u32 {
    owner & !BEHIND
}

/// The owners of all chunks, while they are being found.
pub struct Owners<'tables> {
    index: Index<'tables>,
    /// The owner of each chunk.
    owners: &'tables mut [Owner],
    /// The chunks whose contents are scanned. Those from `next` to `last` were not yet, and of those from
    /// `next_tail` on not the last word.
    queue: &'tables mut [u32],
    next: usize,
    next_tail: usize,
    last: usize,
}

impl<'tables> Owners<'tables> {
    /// Creates the state. Both tables have a row for each chunk, and no chunk has an owner.
    pub fn new(index: Index<'tables>, owners: &'tables mut [Owner], queue: &'tables mut [u32]) -> Self {
        Self { index, owners, queue, next: 0, next_tail: 0, last: 0 }
    }

    /// Gives the chunk at this address to `owner`, if the word is one and the chunk has no owner yet.
    #[inline]
    pub fn adopt(&mut self, word: u64, owner: Owner, contents: Contents) {
        let Some(place) = self.index.find(word) else { return };
        let Some(&NOBODY) = self.owners.get(place) else { return };
        let is_small = || self.index.chunks().get(place).is_some_and(|it| it.size <= HASH_TABLE_HEAD);
        let queued = match contents {
            Contents::Chunks => Some(place as u32),
            Contents::HashTable if is_small() => Some(place as u32 | LAST),
            Contents::HashTable | Contents::NoChunks => None,
        };
        if let Some(found) = self.owners.get_mut(place) {
            *found = owner;
        }
        if let Some((queued, free)) = queued.zip(self.queue.get_mut(self.last)) {
            *free = queued;
            self.last += 1;
        }
    }

    /// Gives all chunks to which the words of a range refer to `owner`.
    pub fn scan<S: Source>(&mut self, memory: &Memory<'_, S>, start: u64, end: u64, owner: Owner) {
        self.scan_for(memory, start, end, owner, Contents::Chunks);
    }

    fn scan_for<S: Source>(
        &mut self,
        memory: &Memory<'_, S>,
        start: u64,
        end: u64,
        owner: Owner,
        contents: Contents,
    ) {
        let mut words = [0; (PAGE / 8) as usize];
        let mut at = (start + 7) & !7;
        while at + 8 <= end {
            let page_end = (at - at % PAGE + PAGE).min(end);
            let count = ((page_end - at) / 8) as usize;
            if let Some(words) = words.get_mut(..count) {
                if memory.read(at, words) {
                    words.iter().for_each(|word| self.adopt(*word, owner, contents));
                }
            }
            at = at - at % PAGE + PAGE;
        }
    }

    /// Scans the contents of the chunks that have an owner, and of those found in them.
    pub fn propagate<S: Source>(&mut self, memory: &Memory<'_, S>) {
        loop {
            while self.next < self.last {
                let queued = self.queued(self.next);
                self.next += 1;
                if let Some((chunk, owner, contents)) = queued {
                    self.scan_for(memory, chunk.start(), chunk.end(), owner | BEHIND, contents);
                }
            }
            // The first word of the next chunk may belong to this one. It may also be left over, so it comes
            // after all others.
            if self.next_tail == self.last {
                return;
            }
            let queued = self.queued(self.next_tail);
            self.next_tail += 1;
            if let Some((chunk, owner, contents)) = queued {
                self.scan_for(memory, chunk.end(), chunk.end() + 8, owner | BEHIND, contents);
            }
        }
    }

    /// Returns a chunk in the queue, its owner, and what the chunks contain to which it refers.
    fn queued(&self, place: usize) -> Option<(Chunk, Owner, Contents)> {
        let queued = *self.queue.get(place)?;
        let chunk = (queued & !LAST) as usize;
        let contents = if queued & LAST == 0 { Contents::Chunks } else { Contents::NoChunks };
        let owner = self.owners.get(chunk).copied().unwrap_or(NOBODY);
        Some((*self.index.chunks().get(chunk)?, owner, contents))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::memory::arena::ArenaHeap;
    use crate::memory::index::Chunks;
    use crate::memory::pages::tests::{region, Words};
    use crate::memory::pages::PRESENT;
    use ::std::{assert_eq, vec};

    #[test]
    fn follows_chunks_but_not_plain_bytes() {
        let mut words = Words::default();
        let mut place = |address: u64, word: u64| words.0.insert(address, word);
        for number in 0..6 {
            place(0x10000 + number * 0x40 + 8, 0x41);
            place(0x10000 + number * 0x40 + 16, 0x7777);
        }
        place(0x10180 + 8, (0x1000 - 0x180) | 1);
        let at = |number: u64| 0x10000 + number * 0x40;
        place(at(0) + 24, at(1) + 0x28); // inside of the second chunk
        place(at(1) + 24, at(0) + 16); // and back
        place(at(2) + 24, at(3) + 16); // a String's bytes
        place(at(4) + 0x40, at(5) + 16); // in the last word, which is the next chunk's first
        place(at(5) + 24, at(3) + 16);
        let regions = [region(0x10000, 0x11000, 0)];
        let states = vec![PRESENT];
        let memory = Memory::new(&regions, &states, &words);
        let (mut chunks, mut spans, mut firsts) = (vec![], vec![], vec![]);
        let heap = ArenaHeap { start: 0x10000, first: 0x10000, end: 0x11000, arena: 0 };
        Chunks::new(&mut chunks, &mut spans, &mut firsts).add_heap(&memory, &heap, 0);
        let index = Index::new(&chunks, &spans, &firsts);
        let (mut owners, mut queue) = (vec![NOBODY; chunks.len()], vec![0; chunks.len()]);
        let mut found = Owners::new(index, &mut owners, &mut queue);
        found.adopt(at(0) + 16, 7, Contents::Chunks);
        found.adopt(at(2) + 16, 8, Contents::NoChunks);
        found.adopt(at(0) + 16, 9, Contents::Chunks); // it has an owner
        found.adopt(0x9999, 9, Contents::Chunks);
        found.propagate(&memory);
        assert_eq!(&owners[..6], [7, 7 | BEHIND, 8, NOBODY, NOBODY, NOBODY]);
        let mut found = Owners::new(index, &mut owners, &mut queue);
        found.adopt(at(4) + 16, 5, Contents::HashTable); // small enough for the head of one
        found.propagate(&memory);
        assert_eq!(&owners[3..6], [NOBODY, 5, 5 | BEHIND], "the other parts of a table are not scanned");
        let mut found = Owners::new(index, &mut owners, &mut queue);
        found.scan(&memory, at(5) + 16, at(5) + 40, 4);
        assert_eq!(owners[3], 4);
        assert_eq!(number(5 | BEHIND), 5);
    }
}
