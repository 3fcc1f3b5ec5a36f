//! What can be known about the memory while the process runs, without a copy of it.

use std::fs::read_to_string;

use magnus::{Error, Ruby};
use profiler_core::memory::census;
use profiler_core::memory::index::Table;
use profiler_core::memory::layout::ProcessFacts;
use profiler_core::memory::ledger::Ledger;
use profiler_core::memory::pages::Memory;
use profiler_core::memory::report::Kinds;
use profiler_core::memory::smaps::Smaps;

use super::facts::HeapFacts;
use super::{allocator, jemalloc};
use crate::sys::clock;
use crate::sys::own_memory::{LiveMemory, OwnFile, OwnRegions};
use crate::vm;
use crate::vm::exceptions::error;
use crate::vm::heap::Sizes;
use crate::vm::without_gvl::without_gvl;

/// Takes the ledger of this process, whose pages were listed. Also returns the CPU time of the thread that looked
/// at the memory, in nanoseconds.
pub(super) fn with_pages(
    ruby: &Ruby,
    mut facts: HeapFacts,
    sizes: &Sizes,
    program: String,
) -> Result<(Ledger, u64), Error> {
    facts.list_stacks();
    let sizes = *sizes;
    let look = move || {
        let begun = clock::thread_cpu_ns();
        let (smaps, kinds) = (smaps()?, live_kinds(&facts, &sizes));
        Ok((smaps, kinds, clock::thread_cpu_ns().saturating_sub(begun)))
    };
    let found: Result<_, String> = without_gvl(ruby, move |_| look())?;
    let (smaps, kinds, cpu_ns) = found.map_err(|why| error(ruby, "Error", why))?;
    let mut ledger = new_ledger(ruby, program, &smaps);
    ledger.malloc = allocator::count();
    let jemalloc = jemalloc::count();
    match kinds {
        Some(kinds) => ledger.add_kinds(&kinds),
        None => ledger.notes.push(
            "the kinds of private memory are unknown, because the system does not let this process read /proc/self/pagemap".into(),
        ),
    }
    match jemalloc {
        Some(count) => ledger.add_jemalloc(count),
        None => ledger.notes.extend(allocator::refusal()),
    }
    ledger.finish();
    Ok((ledger, cpu_ns))
}

/// Creates a ledger of this process with the sizes of its mappings.
pub(super) fn new_ledger(ruby: &Ruby, program: String, smaps: &Smaps) -> Ledger {
    let mut ledger = Ledger::new(smaps);
    ledger.pid = std::process::id();
    ledger.ruby = vm::process::description(ruby);
    ledger.program = program;
    ledger.at = clock::realtime_ns() as f64 / 1e9;
    ledger
}

/// Reads the sizes of the mappings.
pub(super) fn smaps() -> Result<Smaps, String> {
    read_to_string("/proc/self/smaps")
        .map(|text| Smaps::parse(&text))
        .map_err(|why| format!("/proc/self/smaps cannot be read: {why}"))
}

/// Returns the kinds of private memory while the process runs. `None` if the system refuses.
fn live_kinds(facts: &HeapFacts, sizes: &Sizes) -> Option<Kinds> {
    let pagemap = OwnFile::open(c"/proc/self/pagemap")?;
    let mut regions = OwnRegions::new()?;
    if !regions.read(&pagemap, sizes.fiber, |_, _| {}) {
        return None;
    }
    let memory = Memory::new(regions.regions.rows(), regions.states.rows(), LiveMemory);
    let own = [regions.text.range(), facts.ranges()[0], facts.ranges()[1]];
    Some(census::kinds(&memory, &ProcessFacts { is_running: true, ..facts.known(sizes, &own) }))
}
