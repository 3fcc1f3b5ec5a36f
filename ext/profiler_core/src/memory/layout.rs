//! Divides the memory regions of a process into parts, and determines the kind of each.

use ::core::prelude::rust_2021::*;

use super::arena::{bounds_at, heap_at, main_heap, mapped_at, ArenaHeap, HEAP_SPAN};
use super::mapping::PAGE;
use super::pages::{Memory, Source, ABSENT, GUARD};
use super::region::{Region, RegionKind};

/// The kind of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// A page of Ruby's heap.
    RubyPage,
    /// The tables of the snapshot itself.
    Own,
    /// A heap that belongs to an arena of malloc.
    Heap(ArenaHeap),
    /// A block with a mapping of its own, which malloc made.
    Block,
    /// The stack of a thread.
    ThreadStack,
    /// The stack of a fiber.
    FiberStack,
    /// The stack of the main thread.
    MainStack,
    /// Machine code of a JIT.
    Jit,
    /// The transient heap, in which Ruby before 3.3 keeps short-lived arrays and the like.
    TransientHeap,
    /// The data of a library, with its number.
    Data(usize),
    /// Unknown.
    Unnamed,
}

/// A part of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionPart {
    /// The kind.
    pub kind: PartKind,
    /// The first address.
    pub start: u64,
    /// The address after the last.
    pub end: u64,
}

/// Facts about the process that its mappings do not show.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessFacts<'tables> {
    /// The addresses of the pages of Ruby's heap, in order.
    pub ruby_pages: &'tables [u64],
    /// The size of each page in bytes.
    pub ruby_page_bytes: u64,
    /// The tables of the snapshot, in any order.
    pub own: &'tables [(u64, u64)],
    /// The stack pointers of the threads, in any order.
    pub stacks: &'tables [u64],
    /// The size of the transient heap in bytes; 0 if there is none.
    pub transient_bytes: u64,
    /// Whether malloc is not glibc's, so that no chunk or arena is looked for.
    pub other_malloc: bool,
    /// Whether the process runs meanwhile. Then no chain of chunks is followed, and a heap may have grown since the
    /// mappings were read.
    pub is_running: bool,
}

/// Passes the parts of all regions to `found`, in the order of their addresses.
pub fn lay_out<S: Source>(
    memory: &Memory<'_, S>,
    known: &ProcessFacts<'_>,
    mut found: impl FnMut(RegionPart),
) {
    for region in memory.regions() {
        let whole = |kind| RegionPart { kind, start: region.start, end: region.end };
        match region.kind {
            RegionKind::Heap => {
                let heap = main_heap(memory, region.start, region.end);
                found(whole(PartKind::Heap(heap)));
            }
            RegionKind::MainStack => found(whole(PartKind::MainStack)),
            RegionKind::FiberStack => found(whole(PartKind::FiberStack)),
            RegionKind::Jit => found(whole(PartKind::Jit)),
            RegionKind::Anonymous
                if known.transient_bytes != 0 && region.end - region.start == known.transient_bytes =>
            {
                found(whole(PartKind::TransientHeap));
            }
            RegionKind::Anonymous | RegionKind::Data | RegionKind::ZeroedData => {
                lay_out_region(memory, known, region, &mut found)
            }
        }
    }
}

fn lay_out_region<S: Source>(
    memory: &Memory<'_, S>,
    known: &ProcessFacts<'_>,
    region: &Region,
    found: &mut impl FnMut(RegionPart),
) {
    let rest = match region.kind {
        RegionKind::Data | RegionKind::ZeroedData => PartKind::Data(region.library),
        _ => PartKind::Unnamed,
    };
    let (mut at, mut rest_start) = (region.start, region.start);
    while at < region.end {
        let Some((kind, end)) = part_at(memory, known, region, at) else {
            at += PAGE;
            continue;
        };
        if rest_start < at {
            found(RegionPart { kind: rest, start: rest_start, end: at });
        }
        let end = end.clamp(at + 1, region.end);
        found(RegionPart { kind, start: at, end });
        (at, rest_start) = (end, end);
    }
    if rest_start < region.end {
        found(RegionPart { kind: rest, start: rest_start, end: region.end });
    }
}

/// Returns the kind and the end of the part that begins at a page.
fn part_at<S: Source>(
    memory: &Memory<'_, S>,
    known: &ProcessFacts<'_>,
    region: &Region,
    at: u64,
) -> Option<(PartKind, u64)> {
    if known.ruby_pages.binary_search(&at).is_ok() {
        return Some((PartKind::RubyPage, at + known.ruby_page_bytes));
    }
    if let Some((_, end)) = known.own.iter().find(|(start, end)| (*start..*end).contains(&at)) {
        return Some((PartKind::Own, *end));
    }
    if memory.state(at) == ABSENT || region.kind == RegionKind::Data {
        return None;
    }
    let heap = if at % HEAP_SPAN != 0 || known.other_malloc {
        None
    } else if known.is_running {
        bounds_at(memory, at, at + HEAP_SPAN)
    } else {
        heap_at(memory, at, region.end)
    };
    if let Some(heap) = heap {
        return Some((PartKind::Heap(heap), heap.end));
    }
    if let Some(end) = stack_end(memory, known.stacks, region, at) {
        return Some((PartKind::ThreadStack, end));
    }
    let block = if known.other_malloc { None } else { mapped_at(memory, at, region.end) };
    block.map(|bytes| (PartKind::Block, at + bytes))
}

/// Returns the end of the thread's stack that contains the page at `at`. Below each stack is a guard or the
/// start of the region.
fn stack_end<S: Source>(memory: &Memory<'_, S>, stacks: &[u64], region: &Region, at: u64) -> Option<u64> {
    let is_first = |pointer: &&u64| {
        let pointer = **pointer;
        if !(at..region.end).contains(&pointer) {
            return false;
        }
        let below = memory.states(region.start, pointer);
        let guard = below.iter().rposition(|state| *state == GUARD);
        let low = region.start + guard.map_or(0, |page| page as u64 + 1) * PAGE;
        low <= at && (low == at || memory.states(low, at).iter().all(|state| *state == ABSENT))
    };
    let pointer = stacks.iter().filter(is_first).min()?;
    // A block of malloc may lie between the beginning of the region and the stack.
    if mapped_at(memory, at, region.end).is_some_and(|bytes| at + bytes <= *pointer) {
        return None;
    }
    let mut page = pointer - pointer % PAGE;
    while page < region.end && memory.state(page) != GUARD {
        if let Some(end) = descriptor_end(memory, page) {
            return Some(end.min(region.end));
        }
        page += PAGE;
    }
    Some(page.min(region.end))
}

/// Returns the end of the stack if the descriptor of its thread is in this page. The descriptor ends the
/// stack, and refers to itself twice (x86-64; elsewhere the stack is bounded only by guards).
fn descriptor_end<S: Source>(memory: &Memory<'_, S>, page: u64) -> Option<u64> {
    const BYTES: u64 = 0x900;
    let mut words = [0; (PAGE / 8) as usize];
    if !memory.read(page, &mut words) {
        return None;
    }
    let place = words.windows(3).step_by(8).zip((page..).step_by(64));
    place
        .filter(|(three, address)| three.first() == Some(address) && three.get(2) == Some(address))
        .map(|(_, address)| (address + BYTES + PAGE - 1) & !(PAGE - 1))
        .next()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::memory::pages::tests::{region, Words};
    use crate::memory::pages::PRESENT;
    use ::core::matches; // not in the prelude of Rust 1.85
    use ::std::{assert_eq, vec, vec::Vec};

    #[test]
    fn names_a_heap_that_has_grown_since_its_mapping_was_read() {
        let base = HEAP_SPAN * 3;
        let mut words = Words::default();
        for (place, word) in [base + 0x30, 0, 0x12000, 0x12000].iter().enumerate() {
            words.0.insert(base + 8 * place as u64, *word);
        }
        let regions = [region(base, base + 0x10000, 0)];
        let states = vec![PRESENT; 16];
        let memory = Memory::new(&regions, &states, &words);
        for (is_running, is_heap) in [(true, true), (false, false)] {
            let mut parts: Vec<RegionPart> = vec![];
            lay_out(&memory, &ProcessFacts { is_running, ..ProcessFacts::default() }, |it| parts.push(it));
            assert_eq!((parts.len(), parts[0].end), (1, base + 0x10000));
            assert_eq!(matches!(parts[0].kind, PartKind::Heap(_)), is_heap);
        }
    }

    #[test]
    fn names_what_lies_in_one_mapping() {
        // A block of malloc, a page of Ruby's, a stack with its guard, and an unknown page.
        let mut words = Words::default();
        words.0.insert(0x10008, 0x2002);
        for place in [0x16a00, 0x16a10] {
            words.0.insert(place, 0x16a00);
        }
        let regions = [region(0x10000, 0x1a000, 0)];
        let mut states = vec![PRESENT; 10];
        states[4] = GUARD;
        states[5] = ABSENT;
        let memory = Memory::new(&regions, &states, &words);
        let known = ProcessFacts {
            ruby_pages: &[0x12000],
            ruby_page_bytes: 0x2000,
            stacks: &[0x16800],
            own: &[(0x19000, 0x1a000)],
            ..ProcessFacts::default()
        };
        let mut parts: Vec<(PartKind, u64, u64)> = vec![];
        lay_out(&memory, &known, |it| parts.push((it.kind, it.start, it.end)));
        assert_eq!(
            parts,
            [
                (PartKind::Block, 0x10000, 0x12000),
                (PartKind::RubyPage, 0x12000, 0x14000),
                (PartKind::Unnamed, 0x14000, 0x16000),
                (PartKind::ThreadStack, 0x16000, 0x18000),
                (PartKind::Unnamed, 0x18000, 0x19000),
                (PartKind::Own, 0x19000, 0x1a000),
            ]
        );
    }
}
