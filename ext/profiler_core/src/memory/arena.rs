//! The layout of glibc's malloc: arenas, their heaps, and the chunks in these.
//!
//! Nothing here knows a version of glibc. What differs between them is searched for: the first chunk of a
//! heap is where a chain of sizes begins that ends exactly at the heap's end.

use ::core::option::Option::{self, None, Some};
use ::core::prelude::rust_2021::*;

use super::mapping::PAGE;
use super::pages::{Memory, Source};

/// The alignment and the largest size of the heap of a thread's arena.
pub const HEAP_SPAN: u64 = 64 << 20;
/// The bytes before the memory that malloc returns: the size of the chunk before, and its own.
pub const HEADER: u64 = 16;

const PREVIOUS_IN_USE: u64 = 1;
const IS_MAPPED: u64 = 2;
const NON_MAIN: u64 = 4;
const FLAGS: u64 = 7;
const SMALLEST: u64 = 32;
/// The largest size of chunks that are kept in a fast bin, where they still look used.
const LARGEST_FAST: u64 = 176;

/// The state of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ChunkState {
    /// Used by the program.
    Used,
    /// Free.
    Free,
    /// The free rest at the end of an arena.
    Top,
    /// Free, and kept by a thread for its next request (tcache).
    Cached,
    /// Free, and kept in a fast bin.
    Fast,
}

/// A chunk of malloc, with its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The address of the header.
    pub at: u64,
    /// The bytes, a multiple of 16. The upper half of the word is free for the state.
    pub size: u64,
    /// The state.
    pub state: ChunkState,
}

impl Chunk {
    /// Returns the address that malloc returned for it.
    #[must_use]
    pub fn start(&self) -> u64 {
        self.at + HEADER
    }

    /// Returns the address after it.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.at + self.size
    }
}

/// The heap of an arena, or a part of the main arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArenaHeap {
    /// The first address, where the arena's own data are.
    pub start: u64,
    /// The first chunk. Equal to `end` if no chain of chunks was found.
    pub first: u64,
    /// The address after the last.
    pub end: u64,
    /// The arena, by the address of its data; 0 is the main one.
    pub arena: u64,
}

/// Returns the heap of a thread's arena that begins at `base`, a multiple of [`HEAP_SPAN`].
#[must_use]
pub fn heap_at<S: Source>(memory: &Memory<'_, S>, base: u64, limit: u64) -> Option<ArenaHeap> {
    let heap = bounds_at(memory, base, limit)?;
    let is_first = heap.arena - heap.arena % HEAP_SPAN == base;
    let (from, to) = if is_first { (base + 0x400, base + 0xc00) } else { (base + 0x20, base + 0x80) };
    let first = (from..to).step_by(16).find(|first| is_chain(memory, *first, heap.end));
    Some(ArenaHeap { first: first.unwrap_or(heap.end), ..heap })
}

/// Returns the heap of a thread's arena that begins at `base`, without following its chunks: its `first` is its
/// `end`.
#[must_use]
pub fn bounds_at<S: Source>(memory: &Memory<'_, S>, base: u64, limit: u64) -> Option<ArenaHeap> {
    let mut head = [0; 4];
    if !memory.read(base, &mut head) {
        return None;
    }
    let [arena, previous, size, accessible] = head;
    let is_plausible = size > 0
        && size % PAGE == 0
        && size <= accessible
        && accessible <= HEAP_SPAN
        && size <= limit.saturating_sub(base)
        && previous % HEAP_SPAN == 0
        && (0x20..=0x60).contains(&(arena % HEAP_SPAN));
    if !is_plausible {
        return None;
    }
    let end = base + size;
    Some(ArenaHeap { start: base, first: end, end, arena })
}

/// Returns the part of the main arena that fills a mapping.
#[must_use]
pub fn main_heap<S: Source>(memory: &Memory<'_, S>, start: u64, end: u64) -> ArenaHeap {
    // The program break may begin inside of a page.
    let first = (start..start + PAGE).step_by(16).find(|first| begins_chain(memory, *first, end));
    ArenaHeap { start, first: first.unwrap_or(end), end, arena: 0 }
}

/// Returns whether chunks of a thread's arena lie from `first` to exactly `end`.
fn is_chain<S: Source>(memory: &Memory<'_, S>, first: u64, end: u64) -> bool {
    // A first chunk that is free does not say whose it is.
    let flags = memory.word(first + 8).unwrap_or(0) & FLAGS;
    flags & !NON_MAIN == PREVIOUS_IN_USE && walk(memory, first, end, 0, |_| {}) == end
}

/// Returns whether a chunk of the main arena may begin here: the chain is followed for some chunks, as a
/// chain that breaks later is still told apart from no chain.
fn begins_chain<S: Source>(memory: &Memory<'_, S>, first: u64, end: u64) -> bool {
    let mut at = first;
    for _ in 0..64 {
        let Some(head) = memory.word(at + 8) else { return false };
        let size = head & !FLAGS;
        if head & (IS_MAPPED | NON_MAIN) != 0
            || size < SMALLEST
            || size % 16 != 0
            || size > end.saturating_sub(at)
        {
            return false;
        }
        at += size;
        if at == end {
            break;
        }
    }
    memory.word(first + 8).is_some_and(|head| head & PREVIOUS_IN_USE != 0)
}

/// Passes each chunk from `first` on to `found`. Returns the address at which the walk ended: `end`, or
/// where the chain is broken. `key` marks the chunks that threads keep; 0 if it is unknown.
pub fn walk<S: Source>(
    memory: &Memory<'_, S>,
    first: u64,
    end: u64,
    key: u64,
    mut found: impl FnMut(Chunk),
) -> u64 {
    let mut at = first;
    let Some(mut head) = memory.word(at + 8) else { return at };
    loop {
        let size = head & !FLAGS;
        match size {
            // Two empty chunks end a heap that is full.
            0 if at + HEADER == end => return end,
            HEADER if at + HEADER < end => {
                at += HEADER;
            }
            _ if size < SMALLEST || size % 16 != 0 || size > end.saturating_sub(at) => return at,
            _ if at + size == end => {
                found(Chunk { at, size, state: ChunkState::Top });
                return end;
            }
            _ => {
                let Some(next) = memory.word(at + size + 8) else { return at };
                let state = if next & PREVIOUS_IN_USE == 0 {
                    ChunkState::Free
                } else {
                    used_state(memory, at, size, key)
                };
                found(Chunk { at, size, state });
                (at, head) = (at + size, next);
                continue;
            }
        }
        match memory.word(at + 8) {
            Some(next) => head = next,
            None => return at,
        }
    }
}

/// Returns where a chain that is broken at `from` goes on: the next place from which chunks lie to exactly
/// `end`. `None` if there is none nearby.
#[must_use]
pub fn next_chain<S: Source>(memory: &Memory<'_, S>, from: u64, end: u64) -> Option<u64> {
    const NEARBY: u64 = 1 << 20;
    (from + 16..end.min(from + NEARBY)).step_by(16).find(|place| {
        let head = memory.word(place + 8).unwrap_or(0);
        head & !FLAGS >= SMALLEST && head & IS_MAPPED == 0 && walk(memory, *place, end, 0, |_| {}) == end
    })
}

/// Tells a chunk that the program has from a free one that still looks so.
fn used_state<S: Source>(memory: &Memory<'_, S>, at: u64, size: u64, key: u64) -> ChunkState {
    let mut user = [0; 2];
    let place = at + HEADER;
    let is_read = if place % PAGE == PAGE - 8 {
        false // never: chunks are aligned to 16 bytes
    } else {
        memory.read(place, &mut user)
    };
    let [link, mark] = user;
    if is_read && key != 0 && mark == key {
        return ChunkState::Cached;
    }
    if is_read && size <= LARGEST_FAST && is_fast_link(memory, place, link, size) {
        return ChunkState::Fast;
    }
    ChunkState::Used
}

/// Returns whether a word is the link of a fast bin: the next free chunk of the same size, mixed with its
/// own address (glibc 2.32 and later).
fn is_fast_link<S: Source>(memory: &Memory<'_, S>, place: u64, link: u64, size: u64) -> bool {
    let next = link ^ (place >> 12);
    match next {
        0 => true,
        _ if next % 16 != 0 || next < PAGE => false,
        _ => memory.region(next).is_some() && memory.word(next + 8).is_some_and(|it| it & !FLAGS == size),
    }
}

/// Returns the bytes of the block at `page` if malloc mapped it for itself.
#[must_use]
pub fn mapped_at<S: Source>(memory: &Memory<'_, S>, page: u64, limit: u64) -> Option<u64> {
    let mut head = [0; 2];
    if !memory.read(page, &mut head) {
        return None;
    }
    let [before, word] = head;
    let size = word & !FLAGS;
    // glibc 2.43 leaves the header out of the size.
    let total = if size % PAGE == 0 { size } else { size.saturating_add(HEADER) };
    let fits = total > 0 && total <= limit.saturating_sub(page);
    let is_block = before == 0 && word & FLAGS == IS_MAPPED && total % PAGE == 0 && fits;
    is_block.then_some(total)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::memory::pages::tests::{region, Words};
    use crate::memory::pages::PRESENT;
    use ::std::{assert_eq, vec, vec::Vec};

    const KEY: u64 = 0x1234_5678_9abc_def0;

    /// Writes chunks of these sizes and flags, one after the other.
    fn chunks(words: &mut Words, mut at: u64, heads: &[u64]) {
        for head in heads {
            words.0.insert(at + 8, *head);
            at += head & !FLAGS;
        }
    }

    fn walked(words: &Words, first: u64, end: u64) -> (u64, Vec<(u64, u64, ChunkState)>) {
        let regions = [region(0x10000, 0x20000, 0)];
        let states = vec![PRESENT; 16];
        let memory = Memory::new(&regions, &states, words);
        let mut all = vec![];
        let reached = walk(&memory, first, end, KEY, |it| all.push((it.at, it.size, it.state)));
        (reached, all)
    }

    #[test]
    fn accepts_memory_of_others_with_numbers_of_any_size() {
        // Any words may stand at the beginning of a page that is not malloc's, such as those of jemalloc.
        for word in [u64::MAX, u64::MAX - 0xf, u64::MAX - 5, (1 << 63) | 2, 2] {
            let mut words = Words::default();
            (0..0x40).for_each(|index| {
                words.0.insert(0x10000 + 8 * index, if index % 2 == 0 { 0 } else { word });
            });
            let regions = [region(0x10000, 0x20000, 0)];
            let states = vec![PRESENT; 16];
            let memory = Memory::new(&regions, &states, &words);
            assert_eq!(mapped_at(&memory, 0x10000, 0x20000), None);
            assert_eq!(heap_at(&memory, 0x10000, 0x20000), None);
            assert_eq!(main_heap(&memory, 0x10000, 0x20000).first, 0x20000);
            assert_eq!(walked(&words, 0x10000, 0x20000).0, 0x10000);
        }
    }

    #[test]
    fn tells_used_free_kept_and_top() {
        use ChunkState::{Cached, Fast, Free, Top, Used};
        let mut words = Words::default();
        chunks(&mut words, 0x10000, &[0x41, 0x101, 0x50, 0x31, 0x31, 0x31, 0x41, 0xfda1]);
        words.0.insert(0x10000 + 16, 0x7777); // data of the program
        words.0.insert(0x10140 + 16, 0x7777);
        words.0.insert(0x10190 + 24, KEY);
        // A fast bin of two chunks: the first refers to the second, which is the last.
        words.0.insert(0x101c0 + 16, 0x101f0 ^ (0x101d0 >> 12));
        words.0.insert(0x101f0 + 16, 0x10200 >> 12);
        words.0.insert(0x10220 + 16, 0x101f0 ^ (0x10230 >> 12)); // a chunk of another size
        let (reached, all) = walked(&words, 0x10000, 0x20000);
        let states: Vec<_> = all.iter().map(|it| it.2).collect();
        assert_eq!(states, [Used, Free, Used, Cached, Fast, Fast, Used, Top]);
        assert_eq!((reached, all[7]), (0x20000, (0x10260, 0xfda0, Top)));
    }

    #[test]
    fn ends_where_the_chain_is_broken() {
        let mut words = Words::default();
        chunks(&mut words, 0x10000, &[0x41, 0x101, 0xff_fff1]);
        assert_eq!(walked(&words, 0x10000, 0x20000).0, 0x10140);
        chunks(&mut words, 0x10400, &[0x51, (0x10000 - 0x450) | 1]);
        let regions = [region(0x10000, 0x20000, 0)];
        let states = vec![PRESENT; 16];
        let memory = Memory::new(&regions, &states, &words);
        assert_eq!(next_chain(&memory, 0x10140, 0x20000), Some(0x10400));
        assert_eq!(next_chain(&memory, 0x10450, 0x20000), None);
    }

    #[test]
    fn ends_a_full_heap_at_its_fence() {
        let mut words = Words::default();
        chunks(&mut words, 0x10000, &[0xffc5, 0x25, 0x15, 0x1]);
        words.0.insert(0x10000 + 0xffc0 + 8, 0x21 | 4);
        words.0.insert(0x10000 + 0xffe0 + 8, 0x15);
        words.0.insert(0x10000 + 0xfff0 + 8, 0x1);
        let (reached, all) = walked(&words, 0x10000, 0x20000);
        assert_eq!((reached, all.len()), (0x20000, 2));
    }

    #[test]
    fn finds_the_first_chunk_of_a_thread_arena() {
        let base = HEAP_SPAN * 3;
        let mut words = Words::default();
        for (place, word) in [base + 0x30, 0, 0x10000, 0x21000].iter().enumerate() {
            words.0.insert(base + 8 * place as u64, *word);
        }
        chunks(&mut words, base + 0x8c0, &[0x295, 0x1000 | 5, (0x10000 - 0x8c0 - 0x290 - 0x1000) | 5]);
        let regions = [region(base, base + 0x10000, 0)];
        let states = vec![PRESENT; 16];
        let memory = Memory::new(&regions, &states, &words);
        let heap = heap_at(&memory, base, base + 0x10000).unwrap();
        assert_eq!((heap.first, heap.end, heap.arena), (base + 0x8c0, base + 0x10000, base + 0x30));
        assert_eq!(heap_at(&memory, base, base + 0x8000), None, "it ends inside of the mapping");
        // Its thread has ended, and all of it is free.
        words.0.insert(base + 0x8c0 + 8, (0x10000 - 0x8c0) | 1);
        let memory = Memory::new(&regions, &states, &words);
        assert_eq!(heap_at(&memory, base, base + 0x10000).map(|heap| heap.first), Some(base + 0x8c0));
        assert_eq!(heap_at(&memory, base + HEAP_SPAN, base + HEAP_SPAN + PAGE), None);
    }

    #[test]
    fn knows_blocks_with_and_without_their_header() {
        let words = Words([(0x10008, 0x5002), (0x16008, 0x4ff2), (0x1c008, 0x5001)].into());
        let regions = [region(0x10000, 0x20000, 0)];
        let states = vec![PRESENT; 16];
        let memory = Memory::new(&regions, &states, &words);
        assert_eq!(
            [0x10000, 0x16000, 0x1c000, 0x1d000].map(|page| mapped_at(&memory, page, 0x20000)),
            [Some(0x5000), Some(0x5000), None, None]
        );
        assert_eq!(mapped_at(&memory, 0x10000, 0x12000), None);
    }
}
