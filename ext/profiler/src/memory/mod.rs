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

use magnus::{Error, RArray, Ruby};
use profiler_core::memory::ledger::Ledger;
use profiler_core::profile::Note;
use profiler_core::text::units::counted;

use crate::vm;
use facts::HeapFacts;
pub(crate) use holders::HeldObjects;
use live::{new_ledger, with_pages};
pub(crate) use owned_blocks::owned_blocks;
pub(crate) use row::row;
use snapshot::Finished;
pub(crate) use snapshot::Limits;

/// Takes the ledger of this process without stopping it.
///
/// # Errors
/// Exceptions that other threads deliver during the call. `Profiler::Error` if the system refuses.
pub(crate) fn ledger(ruby: &Ruby, program: String) -> Result<Ledger, Error> {
    let sizes = vm::heap::sizes(ruby)?;
    let mut facts = HeapFacts::new();
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
    wanted: Option<&HeldObjects>,
) -> Result<(Ledger, Option<RArray>), Error> {
    let sizes = vm::heap::sizes(ruby)?;
    let found = snapshot::take(ruby, &sizes, limits, wanted.map(HeldObjects::question), false);
    let (found, smaps) = found.map_err(|why| why.exception(ruby))?;
    let mut ledger = new_ledger(ruby, program, &smaps);
    if let Some(sums) = &found.sums {
        ledger.set_sums(sums);
    }
    add_owners(&mut ledger, &found);
    if let Some(snapshot) = &mut ledger.snapshot {
        (snapshot.gc_ns, snapshot.fork_ns, snapshot.copy_ns) = (found.gc_ns, found.fork_ns, found.copy_ns);
    }
    if found.has_garbage {
        ledger.notes.push(Note::GcDisabled {}.sentence());
    }
    if ledger.swapped > 0 {
        ledger.notes.push("memory in swap is not among the rows".into());
    }
    let objects = match (found.why(), wanted) {
        (Some(why), Some(wanted)) => {
            ledger.add_why(wanted.name.clone(), why, found.report(), |class| found.class_name(class));
            Some(holders::objects(ruby, &sizes, why)?)
        }
        _ => None,
    };
    ledger.finish();
    Ok((ledger, objects))
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
