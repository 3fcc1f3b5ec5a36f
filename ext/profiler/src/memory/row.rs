//! A row of memory over time: what can be known without a copy of the process.

use std::collections::BTreeMap;

use magnus::{Error, Ruby};
use profiler_core::memory::history::MemoryRow;
use profiler_core::memory::index::Table;
use profiler_core::memory::rows::ClassRow;
use profiler_core::memory::slots::{type_name, HeapSlot, INTERNAL};
use profiler_core::rng;

use super::facts::HeapFacts;
use super::live::with_pages;
use crate::naming;
use crate::sys::clock;
use crate::vm;
use crate::vm::modules::real_class;
use crate::vm::objects::Pinned;

/// The slots that are looked at. With so many, the share of a class is right within 0.4 points.
const SLOTS: u64 = 20_000;
/// The classes in a row.
const CLASSES: usize = 12;

/// Takes a row. The process runs meanwhile, except for some milliseconds in which slots are looked at.
///
/// # Errors
/// Exceptions that other threads deliver during the call. `Profiler::Error` if the system refuses.
pub(crate) fn row(ruby: &Ruby) -> Result<MemoryRow, Error> {
    let begun = clock::thread_cpu_ns();
    let sizes = vm::heap::sizes(ruby)?;
    let has_ractors = vm::process::has_ractors(ruby)?;
    // SAFETY: a `Ruby` proves that the GVL is held, and no method is called in a GC. It is pinned here.
    let mut pinned = unsafe { Pinned::with_capacity_for(CLASSES) };
    let mut facts = HeapFacts::new();
    // SAFETY: a `Ruby` proves that the GVL is held, and no method is called in a GC.
    unsafe { facts.list_pages(&sizes) };
    // Another Ractor could be changing what is read.
    let sums = if has_ractors { Vec::new() } else { largest(&facts) };
    sums.iter().for_each(|(key, ..)| {
        pinned.push(*key);
    });
    let classes = sums.into_iter().map(|(key, objects, bytes)| ClassRow { name: name(key), objects, bytes });
    let classes = classes.collect();
    let (ledger, cpu_ns) = with_pages(ruby, facts, &sizes, String::new())?;
    let mut row = MemoryRow::new(&ledger, clock::realtime_ns(), classes);
    row.cpu_ns = cpu_ns + clock::thread_cpu_ns().saturating_sub(begun);
    Ok(row)
}

/// Returns the classes with the most bytes in slots, as estimated from slots at regular distances: key, objects
/// and bytes. Called right after the pages were listed, in the same hold of the GVL.
fn largest(facts: &HeapFacts) -> Vec<(u64, u64, u64)> {
    let all: u64 = facts.pages.rows().iter().map(|page| (page.end - page.first) / page.slot.max(1)).sum();
    let distance = all.div_ceil(SLOTS).max(1);
    // A random place, so that no program falls into step with it.
    let mut next = rng::after(clock::realtime_ns()) % distance;
    let mut sums: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for page in facts.pages.rows() {
        let slots = (page.end - page.first) / page.slot.max(1);
        while next < slots {
            let address = page.first + next * page.slot;
            next += distance;
            // SAFETY: this is a slot of a page that was listed in this hold of the GVL, and no other Ractor
            // runs. The first two words of every slot are flags and class, or those of a free one.
            let [flags, class] = unsafe { *(address as *const [u64; 2]) };
            let Some(slot) = HeapSlot::new(flags, class) else { continue };
            let sum = sums.entry(key_of(&slot)).or_default();
            *sum = (sum.0 + distance, sum.1 + distance * page.slot);
        }
        next -= slots;
    }
    let mut sums: Vec<_> = sums.into_iter().map(|(key, (objects, bytes))| (key, objects, bytes)).collect();
    sums.sort_unstable_by_key(|(_, _, bytes)| std::cmp::Reverse(*bytes));
    sums.truncate(CLASSES);
    sums
}

/// Returns the class of a live object, or the number of its type.
fn key_of(slot: &HeapSlot) -> u64 {
    if slot.class == 0 || !slot.is_named_by_class() {
        return slot.type_number();
    }
    // SAFETY: the GVL is held since garbage was swept, so the class of an object that is left is there.
    unsafe { real_class(slot.class) }
}

/// Returns the name of a key.
fn name(key: u64) -> String {
    if key < HeapSlot::TYPES {
        return format!("{INTERNAL}{}", type_name(key));
    }
    // SAFETY: the GVL is held, and the class is pinned since it was found.
    unsafe { naming::name_of_class(key) }
}
