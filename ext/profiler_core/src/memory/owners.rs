//! The owner of each chunk: the first that refers to it, directly or through other chunks.

use ::core::option::Option::Some;
use ::core::prelude::rust_2021::*;

use super::index::Index;
use super::mapping::PAGE;
use super::pages::{Memory, Source};

/// An owner, by its number from 1 on, with the flags below.
pub type Owner = u32;

/// No owner: nothing that was scanned refers to the chunk.
pub const NOBODY: Owner = 0;
/// The chunk is reached through other chunks of the owner.
pub const BEHIND: Owner = 1 << 31;
/// The chunk holds plain bytes, as that of a String does. Its contents are not scanned: in unused parts they
/// are addresses of what was there before.
pub const PLAIN: Owner = 1 << 30;

/// Returns the number of an owner without its flags.
#[must_use]
pub fn number(owner: Owner) -> u32 {
    owner & !(BEHIND | PLAIN)
}

/// The owners of all chunks, while they are being found.
pub struct Owners<'tables> {
    index: Index<'tables>,
    /// The owner of each chunk.
    owners: &'tables mut [Owner],
    /// The chunks whose contents were not scanned yet, from `next` to `last`.
    queue: &'tables mut [u32],
    next: usize,
    last: usize,
}

impl<'tables> Owners<'tables> {
    /// Creates the state. Both tables have a row for each chunk, and no chunk has an owner.
    pub fn new(index: Index<'tables>, owners: &'tables mut [Owner], queue: &'tables mut [u32]) -> Self {
        Self { index, owners, queue, next: 0, last: 0 }
    }

    /// Gives the chunk at this address to `owner`, if the word is one and the chunk has no owner yet.
    #[inline]
    pub fn adopt(&mut self, word: u64, owner: Owner) {
        let Some(chunk) = self.index.find(word) else { return };
        if let Some(place @ &mut NOBODY) = self.owners.get_mut(chunk) {
            *place = owner;
            if let (0, Some(place)) = (owner & PLAIN, self.queue.get_mut(self.last)) {
                *place = chunk as u32;
                self.last += 1;
            }
        }
    }

    /// Gives all chunks to which the words of a range refer to `owner`.
    pub fn scan<S: Source>(&mut self, memory: &Memory<'_, S>, start: u64, end: u64, owner: Owner) {
        let mut words = [0; (PAGE / 8) as usize];
        let mut at = (start + 7) & !7;
        while at + 8 <= end {
            let page_end = (at - at % PAGE + PAGE).min(end);
            let count = ((page_end - at) / 8) as usize;
            if let Some(words) = words.get_mut(..count) {
                if memory.read(at, words) {
                    words.iter().for_each(|word| self.adopt(*word, owner));
                }
            }
            at = at - at % PAGE + PAGE;
        }
    }

    /// Scans the contents of the chunks that have an owner, and of those found in them.
    pub fn propagate<S: Source>(&mut self, memory: &Memory<'_, S>) {
        while self.next < self.last {
            let chunk = self.queue.get(self.next).copied().unwrap_or(0) as usize;
            self.next += 1;
            let owner = self.owners.get(chunk).copied().unwrap_or(NOBODY);
            if let Some(chunk) = self.index.chunks().get(chunk) {
                // The first word of the next chunk may belong to this one.
                self.scan(memory, chunk.start(), chunk.end() + 8, owner | BEHIND);
            }
        }
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
        found.adopt(at(0) + 16, 7);
        found.adopt(at(2) + 16, 8 | PLAIN);
        found.adopt(at(0) + 16, 9); // it has an owner
        found.adopt(0x9999, 9);
        found.propagate(&memory);
        assert_eq!(&owners[..6], [7, 7 | BEHIND, 8 | PLAIN, NOBODY, NOBODY, NOBODY]);
        let mut found = Owners::new(index, &mut owners, &mut queue);
        found.adopt(at(4) + 16, 5);
        found.propagate(&memory);
        assert_eq!(&owners[3..6], [5 | BEHIND, 5, 5 | BEHIND]);
        assert_eq!(number(5 | BEHIND | PLAIN), 5);
    }
}
