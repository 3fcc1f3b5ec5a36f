//! An index that finds the chunk at an address.

use ::core::option::Option::{self, None};
use ::core::prelude::rust_2021::*;

use super::arena::{walk, ArenaHeap, Chunk, ChunkState, HEADER};
use super::mapping::PAGE;
use super::pages::{Memory, Source};

/// A table that can grow without malloc.
pub trait Table<T> {
    /// Appends a row. Returns false if the table cannot grow.
    fn push(&mut self, row: T) -> bool;
    /// Returns the rows.
    fn rows(&self) -> &[T];
    /// Returns the rows, mutably.
    fn rows_mut(&mut self) -> &mut [T];
    /// Returns the number of rows.
    fn count(&self) -> usize {
        self.rows().len()
    }
}

/// A contiguous run of chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkRun {
    /// The address of the first chunk.
    pub start: u64,
    /// The address after the last chunk.
    pub end: u64,
    /// The index of the run's first page in the table of first chunks, or of its only chunk in the table of chunks.
    place: usize,
    /// Whether the run is a single block with a mapping of its own.
    is_block: bool,
}

/// The chunks of a process, while they are being collected. Runs must be added in the order of their addresses.
pub struct Chunks<'tables, C, S, F> {
    chunks: &'tables mut C,
    spans: &'tables mut S,
    firsts: &'tables mut F,
    /// Whether all rows had room.
    is_whole: bool,
}

impl<'tables, C: Table<Chunk>, S: Table<ChunkRun>, F: Table<u32>> Chunks<'tables, C, S, F> {
    /// Creates a collection that fills these tables.
    pub fn new(chunks: &'tables mut C, spans: &'tables mut S, firsts: &'tables mut F) -> Self {
        Self { chunks, spans, firsts, is_whole: true }
    }

    /// Adds the chunks of a heap. Returns the address at which its chain ends or breaks.
    pub fn add_heap<M: Source>(&mut self, memory: &Memory<'_, M>, heap: &ArenaHeap, key: u64) -> u64 {
        let (place, first) = (self.firsts.count(), self.chunks.count());
        let mut page = heap.first - heap.first % PAGE;
        let mut last_end = heap.first;
        let reached = walk(memory, heap.first, heap.end, key, |chunk| {
            let number = self.chunks.count();
            while page < chunk.end() {
                self.is_whole &= self.firsts.push(number as u32);
                page += PAGE;
            }
            last_end = chunk.end();
            self.is_whole &= self.chunks.push(chunk);
        });
        if self.chunks.count() > first {
            let span = ChunkRun { start: heap.first, end: last_end, place, is_block: false };
            self.is_whole &= self.spans.push(span);
        }
        reached
    }

    /// Adds a block with a mapping of its own.
    pub fn add_block(&mut self, start: u64, size: u64) {
        let span = ChunkRun { start, end: start + size, place: self.chunks.count(), is_block: true };
        self.is_whole &= self.chunks.push(Chunk { at: start, size, state: ChunkState::Used });
        self.is_whole &= self.spans.push(span);
    }

    /// Returns whether all rows had room.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }
}

/// All chunks, by address.
#[derive(Clone, Copy)]
pub struct Index<'tables> {
    chunks: &'tables [Chunk],
    spans: &'tables [ChunkRun],
    firsts: &'tables [u32],
    low: u64,
    high: u64,
}

impl<'tables> Index<'tables> {
    /// Creates the index of what [`Chunks`] collected.
    #[must_use]
    pub fn new(chunks: &'tables [Chunk], spans: &'tables [ChunkRun], firsts: &'tables [u32]) -> Self {
        let low = spans.first().map_or(0, |it| it.start);
        let high = spans.last().map_or(0, |it| it.end);
        Self { chunks, spans, firsts, low, high }
    }

    /// Returns all chunks.
    #[must_use]
    pub fn chunks(&self) -> &'tables [Chunk] {
        self.chunks
    }

    /// Returns the number of the used chunk whose memory contains the address. A used chunk extends over the first
    /// word of the next chunk.
    #[inline]
    #[must_use]
    pub fn find(&self, address: u64) -> Option<usize> {
        if address < self.low || address >= self.high {
            return None;
        }
        let span = self.spans.get(self.spans.partition_point(|it| it.end <= address))?;
        if address < span.start {
            return None;
        }
        if span.is_block {
            return (address >= span.start + HEADER).then_some(span.place);
        }
        let page = (address - (span.start - span.start % PAGE)) / PAGE;
        let mut number = *self.firsts.get(span.place + page as usize)? as usize;
        while self.chunks.get(number)?.end() <= address {
            number += 1;
        }
        let chunk = self.chunks.get(number)?;
        if address >= chunk.start() {
            return (chunk.state == ChunkState::Used).then_some(number);
        }
        // The first word of a chunk belongs to the one before it, if that is in use.
        let before = number.checked_sub(1).filter(|_| address < chunk.at + 8)?;
        let owner = self.chunks.get(before)?;
        (owner.end() == chunk.at && owner.state == ChunkState::Used).then_some(before)
    }
}

#[cfg(all(test, not(loom)))]
pub(super) mod tests {
    use super::*;
    use crate::memory::pages::tests::{region, Words};
    use crate::memory::pages::PRESENT;
    use ::std::{assert, assert_eq, vec, vec::Vec};

    impl<T> Table<T> for Vec<T> {
        fn push(&mut self, row: T) -> bool {
            Vec::push(self, row);
            true
        }

        fn rows(&self) -> &[T] {
            self
        }

        fn rows_mut(&mut self) -> &mut [T] {
            self
        }
    }

    #[test]
    fn finds_every_address_of_every_chunk() {
        let mut words = Words::default();
        let sizes = [0x21, 0x31, 0x1801, 0x30, 0x2001, 0x41];
        let mut at = 0x10010;
        for head in sizes {
            words.0.insert(at + 8, head);
            words.0.insert(at + 16, 0x7777); // not a link of a fast bin
            at += head & !7;
        }
        words.0.insert(at + 8, (0x18000 - at) | 1);
        let regions = [region(0x10000, 0x18000, 0)];
        let states = vec![PRESENT; 8];
        let memory = Memory::new(&regions, &states, &words);
        let (mut chunks, mut spans, mut firsts) = (vec![], vec![], vec![]);
        let mut all = Chunks::new(&mut chunks, &mut spans, &mut firsts);
        let heap = ArenaHeap { start: 0x10000, first: 0x10010, end: 0x18000, arena: 0 };
        assert_eq!(all.add_heap(&memory, &heap, 0), 0x18000);
        all.add_block(0x20000, 0x3000);
        assert!(all.is_whole());
        let index = Index::new(&chunks, &spans, &firsts);
        for address in (0x0f000..0x24000).step_by(8) {
            let holds = |chunk: &Chunk| {
                let room = if chunk.at == 0x20000 { chunk.end() } else { chunk.end() + 8 };
                chunk.state == ChunkState::Used && (chunk.start()..room).contains(&address)
            };
            assert_eq!(index.find(address), chunks.iter().position(holds), "{address:x}");
        }
    }
}
