//! The sums of chunks: by state, owner, arena and size.

use ::core::matches; // not in the prelude of Rust 1.85
use ::core::option::Option::{self, None, Some};
use ::core::prelude::rust_2021::*;

use super::CensusInput;
use crate::memory::arena::{Chunk, ChunkState, HEADER, HEAP_SPAN};
use crate::memory::mapping::PAGE;
use crate::memory::owners::{number, Owner, BEHIND};
use crate::memory::pages::{Memory, Source};
use crate::memory::region::RegionKind;
use crate::memory::report::{MemoryKind, Report, FILE, STACKS, UNNAMED};

/// The words of an unreferenced chunk that are searched for addresses of code.
const HINT_WORDS: usize = 32;

/// Adds up the chunks by state, owner, arena and size.
pub(super) fn sum_chunks<M: Source>(
    memory: &Memory<'_, M>,
    facts: &CensusInput<'_>,
    chunks: &[Chunk],
    owners: &[Owner],
    report: &mut Report,
) {
    for (chunk, owner) in chunks.iter().zip(owners) {
        let resident = memory.resident(chunk.at, chunk.end());
        let is_block = memory.word(chunk.at + 8).is_some_and(|head| head & 2 != 0);
        let arena = arena_of(memory, chunk, is_block);
        let (kind, used, free, top) = match chunk.state {
            ChunkState::Used => (kind_of(*owner, report), resident, 0, 0),
            ChunkState::Cached | ChunkState::Fast => (MemoryKind::Cached, 0, resident, 0),
            ChunkState::Free => {
                report.trimmable += whole_pages(memory, chunk);
                (MemoryKind::Free, 0, resident, 0)
            }
            ChunkState::Top => (MemoryKind::Top, 0, 0, resident),
        };
        report.add(kind, resident);
        match chunk.state {
            _ if is_block => report.mapped_bytes += chunk.size,
            ChunkState::Used | ChunkState::Cached => report.in_use_bytes += chunk.size,
            ChunkState::Free | ChunkState::Fast | ChunkState::Top => report.free_bytes += chunk.size,
        }
        if let Some(row) = arena.and_then(|arena| report.arena(arena)) {
            row.used += used;
            row.free += free;
            row.top += top;
        }
        if chunk.state != ChunkState::Used {
            continue;
        }
        if let Some(row) = report.owner_row(number(*owner)) {
            let sum = if owner & BEHIND == 0 { &mut row.own } else { &mut row.behind };
            sum.add(resident);
        } else {
            report.add_unreferenced(chunk.size, resident);
            add_hint(memory, facts, chunk, resident, report);
        }
    }
}

/// Returns the kind of a chunk in use.
fn kind_of(owner: Owner, report: &mut Report) -> MemoryKind {
    match report.owner_row(number(owner)).map(|row| row.key) {
        None => MemoryKind::Unreferenced,
        Some(STACKS) => MemoryKind::OfStacks,
        Some(UNNAMED) => MemoryKind::OfUnnamed,
        Some(key) if (FILE..PAGE).contains(&key) => MemoryKind::OfLibraries,
        Some(_) => MemoryKind::OfObjects,
    }
}

/// Returns the arena of a chunk, 0 for the main one; `None` for a block of its own.
fn arena_of<M: Source>(memory: &Memory<'_, M>, chunk: &Chunk, is_block: bool) -> Option<u64> {
    const NON_MAIN: u64 = 4;
    if is_block {
        return None;
    }
    // Free chunks, and tops among them, do not say so.
    let says = !matches!(chunk.state, ChunkState::Free | ChunkState::Top);
    if says && memory.word(chunk.at + 8)? & NON_MAIN == 0 {
        return Some(0);
    }
    let is_main = memory.region(chunk.at)?.kind == RegionKind::Heap;
    if is_main {
        return Some(0);
    }
    memory.word(chunk.at - chunk.at % HEAP_SPAN)
}

/// Returns the bytes of whole resident pages inside of a free chunk, whose ends malloc needs.
fn whole_pages<M: Source>(memory: &Memory<'_, M>, chunk: &Chunk) -> u64 {
    let start = (chunk.at + 2 * HEADER + PAGE - 1) & !(PAGE - 1);
    let end = (chunk.end() - 8) & !(PAGE - 1);
    if start < end {
        memory.resident(start, end)
    } else {
        0
    }
}

/// Adds an unreferenced chunk to the first file to whose code or constants it refers, as objects of C++ do.
fn add_hint<M: Source>(
    memory: &Memory<'_, M>,
    facts: &CensusInput<'_>,
    chunk: &Chunk,
    resident: u64,
    report: &mut Report,
) {
    let mut words = [0; HINT_WORDS];
    let count = (chunk.size.saturating_sub(8) / 8).min((PAGE - chunk.start() % PAGE) / 8);
    let count = (count as usize).min(HINT_WORDS);
    let Some(words) = words.get_mut(..count) else { return };
    if !memory.read(chunk.start(), words) {
        return;
    }
    let file = words.iter().find_map(|word| facts.file_of_constant(*word));
    if let Some(row) = file.and_then(|file| report.files.get_mut(file)) {
        row.hinted.add(resident);
    }
}
