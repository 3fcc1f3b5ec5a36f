//! The ledger of this process's memory: gathers what a census needs, and has it taken.
//!
//! Without owners nothing stops: another thread lists the mappings and reads which pages are there. With
//! owners, a copy of the process walks all of malloc and of Ruby's heap.
//!
//! The rules of a snapshot, each of which was broken once:
//!
//! * The garbage collection, the list of pages and the copy are **one hold of the GVL**: a thread that
//!   allocates in between leaves slots that nobody has swept.
//! * The copy **calls no Ruby function and no malloc**, except for those that mark objects if it is asked why
//!   some are alive. A GC calls them as well, and so they neither allocate nor free. Its tables are mappings (`sys/linux/mapped_table.rs`),
//!   and so are those of this process that hold addresses, or they would hide leaks.
//! * **No page is read before its state is known** (`core/memory/pages.rs`): systems have guards that they do
//!   not list, and that end a process which touches them.
//! * The copy is made by the system, not by libc's `fork`. So the program sees no child, no library's fork
//!   handlers run in it, and this process does not wait for the locks of malloc, which could take seconds.
//!   Instead, an arena that another thread was changing at that instant shows as a broken chain, and then
//!   another copy is made.

mod allocator;
mod copy;
mod facts;
mod headroom;
mod holders;
mod jemalloc;
mod live;
mod owned_blocks;
mod pause;
mod row;
mod snapshot;

use std::time::Duration;

use magnus::{Error, RArray, Ruby};
use profiler_core::memory::ledger::Ledger;
use profiler_core::memory::smaps::Smaps;
use profiler_core::memory::why::Question;
use profiler_core::text::units::counted;

use crate::vm;
use crate::vm::heap::Sizes;
use crate::vm::without_gvl::without_gvl;
use facts::Facts;
pub(crate) use holders::Wanted;
use live::{new_ledger, smaps, with_pages};
pub(crate) use owned_blocks::owned_blocks;
pub(crate) use row::row;
use snapshot::{Finished, NoSnapshot, Purpose};

/// The number of copies that are made if other threads change malloc's arenas at that instant.
const COPIES: u32 = 4;
/// The largest share of the resident memory that may stay unwalked.
const MAX_UNWALKED_SHARE: f64 = 0.005;

/// What a ledger with owners may cost.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    /// Whether the process is copied even if it is large, or near the memory limit of its cgroup.
    pub(crate) force: bool,
    /// The longest time for which the process may stand still. `None` for any.
    pub(crate) max_pause: Option<Duration>,
}

/// Takes the ledger of this process without stopping it.
///
/// # Errors
/// Exceptions that other threads deliver during the call. `Profiler::Error` if the system refuses.
pub(crate) fn ledger(ruby: &Ruby, program: String) -> Result<Ledger, Error> {
    let sizes = vm::heap::sizes(ruby)?;
    let mut facts = Facts::new();
    // SAFETY: a `Ruby` proves that the GVL is held, and no method is called in a GC.
    unsafe { facts.list_pages(&sizes) };
    with_pages(ruby, facts, &sizes, program).map(|(ledger, _)| ledger)
}

/// Takes the ledger of this process with owners.
///
/// With `wanted`, it also says why objects are alive, and returns the objects on their paths.
///
/// # Errors
/// Exceptions that other threads deliver during the call. `Profiler::Unsupported` or `Profiler::Error` with
/// the reason.
pub(crate) fn ledger_with_owners(
    ruby: &Ruby,
    program: String,
    limits: Limits,
    wanted: Option<&Wanted>,
) -> Result<(Ledger, Option<RArray>), Error> {
    let sizes = vm::heap::sizes(ruby)?;
    let found = copied(ruby, &sizes, limits, wanted.map(Wanted::question), false);
    let (found, smaps) = found.map_err(|why| why.exception(ruby))?;
    let mut ledger = new_ledger(ruby, program, &smaps);
    if let Some(sums) = &found.sums {
        ledger.set_sums(sums);
    }
    add_owners(&mut ledger, &found);
    if let Some(snapshot) = &mut ledger.snapshot {
        (snapshot.gc_ns, snapshot.fork_ns, snapshot.copy_ns) = (found.gc_ns, found.fork_ns, found.copy_ns);
    }
    if ledger.swapped > 0 {
        ledger.notes.push("memory in swap is not among the rows".into());
    }
    ledger.finish();
    let objects = match (found.why(), wanted) {
        (Some(why), Some(wanted)) => {
            ledger.add_why(wanted.name.clone(), why, found.report(), |class| found.class_name(class));
            Some(holders::objects(ruby, &sizes, why)?)
        }
        _ => None,
    };
    Ok((ledger, objects))
}

/// Returns what a copy of the process found. If other threads changed malloc's arenas at that instant, another
/// copy is made. The times of all copies are summed.
fn copied(
    ruby: &Ruby,
    sizes: &Sizes,
    limits: Limits,
    question: Option<Question<'_>>,
    blocks: bool,
) -> Result<(Finished, Smaps), NoSnapshot> {
    let refused = |why: String| NoSnapshot::Refused("Unsupported", why);
    if let Some(why) = allocator::refusal() {
        return Err(refused(format!("no owners can be found: {why}")));
    }
    if vm::process::has_ractors(ruby)? {
        let why = "no owners can be found while other Ractors run: they could be changing objects";
        return Err(refused(why.into()));
    }
    let smaps = without_gvl(ruby, |_| smaps())?.map_err(|why| NoSnapshot::Refused("Error", why))?;
    let refusal = pause::refusal_of_pagemap()
        .or_else(|| (!limits.force).then(|| headroom::refusal(smaps.rss)).flatten())
        .or_else(|| limits.max_pause.and_then(|limit| pause::refusal(limit, pause::slots(ruby), smaps.rss)));
    if let Some(why) = refusal {
        return Err(refused(why));
    }
    let purpose = Purpose { question, blocks, max_pause: limits.max_pause, rss: smaps.rss };
    let (mut gc_ns, mut fork_ns, mut copies) = (0, 0, 0);
    loop {
        let mut found = snapshot::take(ruby, sizes, purpose)?;
        (gc_ns, fork_ns, copies) = (gc_ns + found.gc_ns, fork_ns + found.fork_ns, copies + 1);
        if found.not_walked() as f64 <= smaps.rss as f64 * MAX_UNWALKED_SHARE || copies == COPIES {
            (found.gc_ns, found.fork_ns) = (gc_ns, fork_ns);
            return Ok((found, smaps));
        }
    }
}

fn add_owners(ledger: &mut Ledger, found: &Finished) {
    let report = found.report();
    ledger.malloc = found.malloc;
    ledger.add_snapshot(report, |class| found.class_name(class));
    if report.broken_chains > 0 {
        ledger.notes.push(format!(
            "{} of malloc's memory could not be walked, because other threads were changing it: blocks that are referenced only from there may be listed as unreferenced",
            counted(report.broken_chains, "piece")
        ));
    }
    if !found.knows_kept_chunks {
        ledger.notes.push(
            "this libc does not mark the free chunks that threads keep, so they look used, and unreferenced"
                .into(),
        );
    }
}
