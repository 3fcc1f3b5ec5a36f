//! The census of a process: every part of its memory, every chunk of malloc, every slot of Ruby's heap.
//!
//! It runs in a copy of the process. It allocates nothing: all tables are its caller's.

use ::core::matches; // not in the prelude of Rust 1.85
use ::core::option::Option::{self, None, Some};
use ::core::prelude::rust_2021::*;

use super::arena::{next_chain, ArenaHeap, Chunk};
use super::index::{ChunkRun, Chunks, Index, Table};
use super::layout::{lay_out, PartKind, ProcessFacts, RegionPart};
use super::mapping::PAGE;
use super::owners::{Owners, NOBODY};
use super::pages::{Memory, Source, SWAPPED};
use super::region::{Region, RegionKind};
use super::report::{add_to, Kinds, MemoryKind, Report, ResidentSum, DONE, FILE, KINDS, STACKS, UNNAMED};
use super::slots::{HeapSlot, Turn};

mod chunks;

/// The words of the largest slot.
const LARGEST_SLOT: usize = 80;
/// A page of Ruby's heap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RubyPage {
    /// The first slot.
    pub first: u64,
    /// The address after the last slot.
    pub end: u64,
    /// The bytes of a slot.
    pub slot: u64,
}

/// A range of a file's code or constants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileRange {
    /// The first address.
    pub start: u64,
    /// The address after the last.
    pub end: u64,
    /// The number of the file.
    pub file: usize,
}

/// The facts about the process that a census needs.
#[derive(Clone, Copy, Debug, Default)]
pub struct CensusInput<'tables> {
    /// For the parts of its memory.
    pub known: ProcessFacts<'tables>,
    /// The pages of Ruby's heap.
    pub pages: &'tables [RubyPage],
    /// Each class, with the first of its ancestors that is not a singleton class, by address.
    pub classes: &'tables [(u64, u64)],
    /// The code and constants of files, by address.
    pub files: &'tables [FileRange],
    /// The address of a function of Ruby.
    pub ruby: u64,
    /// The word that marks chunks which threads keep; 0 if it is unknown.
    pub tcache_key: u64,
}

impl CensusInput<'_> {
    /// Returns the number of the file whose code or constants are at an address.
    pub(super) fn file_of_constant(&self, address: u64) -> Option<usize> {
        let place = self.files.partition_point(|it| it.end <= address);
        self.files.get(place).filter(|it| it.start <= address).map(|it| it.file)
    }

    /// Returns the number of the file whose code or data is at an address.
    fn file_of<M: Source>(&self, memory: &Memory<'_, M>, address: u64) -> Option<usize> {
        let is_data = |it: &&Region| matches!(it.kind, RegionKind::Data | RegionKind::ZeroedData);
        let constant = self.file_of_constant(address);
        constant.or_else(|| memory.region(address).filter(is_data).map(|it| it.library))
    }

    /// Returns whether the address is in a file other than Ruby's.
    pub(super) fn is_in_library<M: Source>(&self, memory: &Memory<'_, M>, address: u64) -> bool {
        let file = self.file_of(memory, address);
        file.is_some() && file != self.file_of(memory, self.ruby)
    }
}

/// The tables that a census fills.
#[derive(Debug)]
pub struct CensusTables<'tables, P, C, S, N> {
    /// All parts.
    pub parts: &'tables mut P,
    /// All chunks.
    pub chunks: &'tables mut C,
    /// Runs of chunks.
    pub spans: &'tables mut S,
    /// The first chunk of each page.
    pub firsts: &'tables mut N,
    /// The owner of each chunk.
    pub owners: &'tables mut N,
    /// The chunks that are to be scanned.
    pub queue: &'tables mut N,
}

/// Takes the census. Returns false if a table had no room.
pub fn take<M, P, C, S, N>(
    memory: &Memory<'_, M>,
    facts: &CensusInput<'_>,
    tables: CensusTables<'_, P, C, S, N>,
    report: &mut Report,
) -> bool
where
    M: Source,
    P: Table<RegionPart>,
    C: Table<Chunk>,
    S: Table<ChunkRun>,
    N: Table<u32>,
{
    let CensusTables { parts, chunks, spans, firsts, owners, queue } = tables;
    let mut has_room = true;
    report.stage = 1;
    lay_out(memory, &facts.known, |part| has_room &= parts.push(part));
    report.stage = 2;
    let mut all = Chunks::new(chunks, spans, firsts);
    parts.rows().iter().for_each(|part| add_part(memory, facts, part, &mut all, report));
    has_room &= all.is_whole();
    has_room &= (0..chunks.count()).all(|_| owners.push(NOBODY) && queue.push(0));
    if !has_room {
        return false;
    }
    report.stage = 3;
    let index = Index::new(chunks.rows(), spans.rows(), firsts.rows());
    let mut found = Owners::new(index, owners.rows_mut(), queue.rows_mut());
    count_slots(memory, facts, report);
    for turns in Turn::ALL {
        for turn in turns {
            adopt_of_slots(memory, facts, *turn, &mut found, report);
        }
        found.propagate(memory);
    }
    report.stage = 4;
    adopt_of_parts(memory, facts, parts.rows(), &mut found, report);
    report.stage = 5;
    chunks::sum_chunks(memory, facts, index.chunks(), owners.rows(), report);
    report.swapped = count_swapped(memory);
    report.stage = DONE;
    true
}

/// Adds a part to its kind, and its chunks to the tables.
fn add_part<M: Source, C: Table<Chunk>, S: Table<ChunkRun>, N: Table<u32>>(
    memory: &Memory<'_, M>,
    facts: &CensusInput<'_>,
    part: &RegionPart,
    chunks: &mut Chunks<'_, C, S, N>,
    report: &mut Report,
) {
    let resident = memory.resident(part.start, part.end);
    match part.kind {
        PartKind::Heap(heap) => add_heap(memory, facts, &heap, chunks, report),
        PartKind::Block => chunks.add_block(part.start, part.end - part.start),
        PartKind::RubyPage => {} // by its slots
        // A stack that was never used is for a fiber to come.
        PartKind::FiberStack if resident == 0 => {}
        kind => report.add(plain_kind(kind), resident),
    }
}

/// Returns the kind of a part that is not walked.
fn plain_kind(part: PartKind) -> MemoryKind {
    match part {
        PartKind::Heap(ArenaHeap { arena: 0, .. }) => MemoryKind::MainArena,
        PartKind::Heap(_) => MemoryKind::ThreadArenas,
        PartKind::Block => MemoryKind::Blocks,
        PartKind::RubyPage => MemoryKind::RubyPages,
        PartKind::Own => MemoryKind::Own,
        PartKind::ThreadStack => MemoryKind::ThreadStacks,
        PartKind::FiberStack => MemoryKind::FiberStacks,
        PartKind::MainStack => MemoryKind::MainStack,
        PartKind::Jit => MemoryKind::Jit,
        PartKind::TransientHeap => MemoryKind::TransientHeap,
        PartKind::Data(_) => MemoryKind::LibraryData,
        PartKind::Unnamed => MemoryKind::Unnamed,
    }
}

/// Returns the resident memory by kind, without a walk through chunks and slots: for a process that runs.
#[must_use]
pub fn kinds<M: Source>(memory: &Memory<'_, M>, known: &ProcessFacts<'_>) -> Kinds {
    let mut kinds = [ResidentSum::default(); KINDS];
    lay_out(memory, known, |part| {
        let resident = memory.resident(part.start, part.end);
        if part.kind != PartKind::FiberStack || resident > 0 {
            add_to(&mut kinds, plain_kind(part.kind), resident);
        }
    });
    kinds
}

fn add_heap<M: Source, C: Table<Chunk>, S: Table<ChunkRun>, N: Table<u32>>(
    memory: &Memory<'_, M>,
    facts: &CensusInput<'_>,
    heap: &ArenaHeap,
    chunks: &mut Chunks<'_, C, S, N>,
    report: &mut Report,
) {
    report.arena(heap.arena);
    if heap.first > heap.start {
        let end = heap.first.min(heap.end);
        let kind = if heap.first == heap.end { MemoryKind::Broken } else { MemoryKind::Arena };
        report.add(kind, memory.resident(heap.start, end));
    }
    if heap.first == heap.end {
        report.broken_chains += 1;
        return;
    }
    let mut part = *heap;
    loop {
        let reached = chunks.add_heap(memory, &part, facts.tcache_key);
        if reached == heap.end {
            return;
        }
        // Another thread was changing this chunk.
        report.broken_chains += 1;
        let next = next_chain(memory, reached, heap.end);
        report.add(MemoryKind::Broken, memory.resident(reached, next.unwrap_or(heap.end)));
        match next {
            Some(next) => part.first = next,
            None => return,
        }
    }
}

/// Counts live and free slots, and empty pages.
fn count_slots<M: Source>(memory: &Memory<'_, M>, facts: &CensusInput<'_>, report: &mut Report) {
    let bodies = facts.known.ruby_pages.iter();
    for (page, body) in facts.pages.iter().zip(bodies) {
        let mut live = 0;
        each_slot(memory, page, |_, _| live += 1);
        let resident = memory.resident(*body, body + facts.known.ruby_page_bytes);
        if live == 0 {
            report.add(MemoryKind::EmptyPages, resident);
            continue;
        }
        let bytes = (live * page.slot).min(resident);
        if let Some(sum) = report.kinds.get_mut(MemoryKind::LiveSlots as usize) {
            sum.bytes += bytes;
            sum.count += live;
        }
        if let Some(sum) = report.kinds.get_mut(MemoryKind::FreeSlots as usize) {
            sum.bytes += resident - bytes;
            sum.count += (page.end - page.first) / page.slot.max(1) - live;
        }
    }
}

/// Passes each live object of a page with its words.
fn each_slot<M: Source>(memory: &Memory<'_, M>, page: &RubyPage, mut found: impl FnMut(HeapSlot, &[u64])) {
    let words = (page.slot / 8) as usize;
    let mut slot_words = [0; LARGEST_SLOT];
    let Some(slot_words) = slot_words.get_mut(..words).filter(|it| it.len() >= 2) else { return };
    let mut at = page.first;
    while at + page.slot <= page.end {
        let in_page = ((PAGE - at % PAGE) / 8) as usize;
        let is_read = if in_page >= words {
            memory.read(at, slot_words)
        } else {
            let (head, tail) = slot_words.split_at_mut(in_page);
            memory.read(at, head) && memory.read(at + 8 * in_page as u64, tail)
        };
        if let (true, [flags, class, ..]) = (is_read, &*slot_words) {
            if let Some(slot) = HeapSlot::new(*flags, *class) {
                found(slot, slot_words);
            }
        }
        at += page.slot;
    }
}

/// Gives chunks to the objects that refer to them, and have their turn.
fn adopt_of_slots<M: Source>(
    memory: &Memory<'_, M>,
    facts: &CensusInput<'_>,
    turn: Turn,
    owners: &mut Owners<'_>,
    report: &mut Report,
) {
    let mut last = (0, 0);
    for page in facts.pages {
        each_slot(memory, page, |slot, words| {
            if slot.turn(words.get(2).copied().unwrap_or(0), |it| facts.is_in_library(memory, it)) != turn {
                return;
            }
            let key = key_of(&slot, facts.classes);
            if last.0 != key || last.1 == 0 {
                last = (key, report.owner(key));
            }
            if let Some(row) = report.owner_row(last.1) {
                row.slots.add(page.slot);
            }
            let (count, contents) = (slot.references(words.len()), slot.contents());
            words.iter().skip(2).take(count).for_each(|word| owners.adopt(*word, last.1, contents));
        });
    }
}

/// Returns the key of an object's owner: its class, or its type.
pub(super) fn key_of(slot: &HeapSlot, classes: &[(u64, u64)]) -> u64 {
    let real = || {
        let place = classes.binary_search_by_key(&slot.class, |it| it.0).ok()?;
        classes.get(place).map(|it| it.1)
    };
    if slot.is_named_by_class() {
        real().unwrap_or(slot.type_number())
    } else {
        slot.type_number()
    }
}

/// Gives the chunks that no object leads to, to data of libraries, then to stacks, then to unknown memory.
fn adopt_of_parts<M: Source>(
    memory: &Memory<'_, M>,
    facts: &CensusInput<'_>,
    parts: &[RegionPart],
    owners: &mut Owners<'_>,
    report: &mut Report,
) {
    let mut scan = |is_wanted: fn(PartKind) -> Option<u64>, report: &mut Report| {
        for part in parts {
            let Some(key) = is_wanted(part.kind) else { continue };
            let owner = report.owner(key);
            let start = live_start(facts.known.stacks, part);
            owners.scan(memory, start, part.end, owner);
            owners.propagate(memory);
        }
    };
    scan(
        |kind| match kind {
            PartKind::Data(file) => Some(FILE + file as u64),
            _ => None,
        },
        report,
    );
    scan(
        |kind| {
            let is_stack = matches!(kind, PartKind::ThreadStack | PartKind::FiberStack | PartKind::MainStack);
            is_stack.then_some(STACKS)
        },
        report,
    );
    scan(
        |kind| {
            let is_rest = matches!(kind, PartKind::Unnamed | PartKind::TransientHeap | PartKind::Jit);
            is_rest.then_some(UNNAMED)
        },
        report,
    );
}

/// Returns where the contents of a part begin: what is below the pointer of a stack is left over.
fn live_start(stacks: &[u64], part: &RegionPart) -> u64 {
    match part.kind {
        PartKind::ThreadStack | PartKind::MainStack => {
            let here = stacks.iter().filter(|pointer| (part.start..part.end).contains(*pointer));
            here.min().copied().unwrap_or(part.start)
        }
        _ => part.start,
    }
}

/// Returns the bytes of the regions that are in swap.
fn count_swapped<M: Source>(memory: &Memory<'_, M>) -> u64 {
    let regions = memory.regions().iter();
    let states = regions.flat_map(|it| memory.states(it.start, it.end));
    states.filter(|state| **state == SWAPPED).count() as u64 * PAGE
}
