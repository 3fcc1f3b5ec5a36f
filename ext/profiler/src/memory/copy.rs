//! The work of the copy of the process: it takes the census.
//!
//! The rules are those of a signal handler, and one more: no memory of malloc is freed either. All tables are
//! mappings. Of the VM it calls only what marks objects ([`Marks`]), and that only if it is asked why objects
//! are alive.

use profiler_core::memory::arena::Chunk;
use profiler_core::memory::census::{self, CensusInput, CensusTables, FileRange};
use profiler_core::memory::graph::TableKinds;
use profiler_core::memory::index::{ChunkRun, Index, Table};
use profiler_core::memory::layout::RegionPart;
use profiler_core::memory::mapping::Mapping;
use profiler_core::memory::pages::Memory;
use profiler_core::memory::report::Report;
use profiler_core::memory::sampled::OwnedBlocks;
use profiler_core::memory::why::{self, Question};
use profiler_core::memory::why_report::WhyReport;

use super::facts::HeapFacts;
use crate::capture::malloc;
use crate::sys::mapped_table::MappedTable;
use crate::sys::own_memory::{prefer_to_kill_this, CopiedMemory, OwnFile, OwnRegions};
use crate::vm::heap::Sizes;
use crate::vm::marks::Marks;
use crate::vm::process::code_of_ruby;

/// The data that the copy needs for a census.
#[derive(Clone, Copy)]
pub(super) struct CensusRequest<'facts> {
    pub(super) facts: &'facts HeapFacts,
    pub(super) sizes: Sizes,
    /// The word that marks the chunks which threads keep.
    pub(super) tcache_key: u64,
    /// The report, which the original sees too.
    pub(super) report: *mut Report,
    /// Why objects are alive, with where the original sees the answer too.
    pub(super) question: Option<(Question<'facts>, *mut WhyReport)>,
    /// Where the original sees the owners of sampled blocks, if they are wanted.
    pub(super) blocks: Option<*mut SampledBlocks>,
}

/// The sampled blocks with their owners.
pub(super) type SampledBlocks = OwnedBlocks<{ malloc::SLOTS }>;

/// Tables that are mappings.
struct MappedTables;

impl TableKinds for MappedTables {
    type Numbers = MappedTable<u32>;
    type Sums = MappedTable<u64>;
}

/// Opens the pagemap. The kernel refuses this once the copy is no longer dumpable.
pub(super) fn open() -> Option<OwnFile> {
    OwnFile::open(c"/proc/self/pagemap")
}

/// Takes the census, and then answers the question.
///
/// # Safety
/// The caller is a copy of the process with one thread, and nobody else uses the report.
pub(super) unsafe fn take(request: CensusRequest<'_>, pagemap: Option<OwnFile>) {
    prefer_to_kill_this();
    // SAFETY: the caller promises that nobody else uses the report; it is mapped, and zeros are a valid
    // report.
    let report = unsafe { &mut *request.report };
    let (Some(pagemap), Some(mut own)) = (pagemap, OwnRegions::new()) else { return };
    let mut files = MappedTable::new();
    let mut note_file = |number: usize, mapping: &Mapping<'_>| {
        if let Some(file) = report.files.get_mut(number) {
            file.set_path(mapping.path);
            if !mapping.is_writable {
                files.push(FileRange { start: mapping.start, end: mapping.end, file: number });
            }
        }
    };
    if !own.read(&pagemap, request.sizes.fiber, &mut note_file) {
        return;
    }
    let [bodies, pages, classes, stacks] = request.facts.ranges();
    let shared_report = (request.report as u64, request.report as u64 + size_of::<Report>() as u64);
    let answer = request.question.map_or(0, |(_, answer)| answer as u64);
    let shared_answer = (answer, if answer == 0 { 0 } else { answer + size_of::<WhyReport>() as u64 });
    let shared_blocks =
        request.blocks.map_or((0, 0), |it| (it as u64, it as u64 + size_of::<SampledBlocks>() as u64));
    let ranges =
        [own.text.range(), bodies, pages, classes, stacks, shared_report, shared_answer, shared_blocks];
    let memory = Memory::new(own.regions.rows(), own.states.rows(), CopiedMemory);
    let facts = CensusInput {
        known: request.facts.known(&request.sizes, &ranges),
        pages: request.facts.pages.rows(),
        classes: request.facts.classes.rows(),
        files: files.rows(),
        ruby: code_of_ruby() as u64,
        tcache_key: request.tcache_key,
    };
    let (mut parts, mut chunks, mut spans) =
        (MappedTable::<RegionPart>::new(), MappedTable::<Chunk>::new(), MappedTable::<ChunkRun>::new());
    let (mut firsts, mut owners, mut queue) = (MappedTable::new(), MappedTable::new(), MappedTable::new());
    let tables = CensusTables {
        parts: &mut parts,
        chunks: &mut chunks,
        spans: &mut spans,
        firsts: &mut firsts,
        owners: &mut owners,
        queue: &mut queue,
    };
    let is_whole = census::take(&memory, &facts, tables, report);
    let index = Index::new(chunks.rows(), spans.rows(), firsts.rows());
    if let Some(blocks) = request.blocks.filter(|_| is_whole) {
        // SAFETY: the caller promises that nobody else uses it; it is mapped, and zeros are a valid list.
        unsafe { &mut *blocks }.fill(&index, owners.rows(), malloc::live_addresses());
    }
    let Some((question, answer)) = request.question.filter(|_| is_whole) else { return };
    // SAFETY: the caller promises that nobody else uses the report; it is mapped, and zeros are a valid one.
    // This is a copy, made outside of a GC with the GVL held and everything swept.
    let (answer, mut vm) = unsafe { (&mut *answer, Marks::new()) };
    // The report says whether it is whole.
    let _ = why::explain::<MappedTables, _>(&memory, &facts, index, question, &mut vm, answer);
}
