//! How long the process would stand still for a copy, and whether it can be copied at all.

use std::time::Duration;

use magnus::Ruby;
use profiler_core::text::units::duration;

use crate::sys::own_memory::OwnFile;
use crate::vm;

/// The time that a full collection takes for each slot that is in use, ns.
const GC_NS_OF_SLOT: u64 = 90;
/// The time that the fork takes for each MiB of resident memory, ns.
const FORK_NS_OF_MIB: u64 = 130_000;
/// The time that lists of pages and mappings take besides, ns.
const LISTS_NS: u64 = 3_000_000;

/// Returns the number of slots in use.
pub(super) fn slots(_ruby: &Ruby) -> u64 {
    // SAFETY: a `Ruby` proves that the GVL is held, and no method is called in a GC.
    unsafe { vm::heap::live_slots() }
}

/// Returns why the process may not be copied: because it would stand still for longer than `limit`.
pub(super) fn refusal(limit: Duration, slots: u64, rss: u64) -> Option<String> {
    let predicted = slots.saturating_mul(GC_NS_OF_SLOT).saturating_add(copy_ns(rss));
    (u128::from(predicted) > limit.as_nanos()).then(|| {
        format!(
            "the process would stand still for some {} to find owners, which is more than the allowed {} (max_pause)",
            duration(predicted),
            duration(limit.as_nanos() as u64)
        )
    })
}

/// Returns why the process may not be copied after its garbage was collected, which took `gc_ns`.
pub(super) fn refusal_after_gc(limit: Duration, gc_ns: u64, rss: u64) -> Option<String> {
    let predicted = gc_ns.saturating_add(copy_ns(rss));
    (u128::from(predicted) > limit.as_nanos()).then(|| {
        format!(
            "garbage collection took {}, and the copy would make the process stand still for longer than the allowed {} (max_pause)",
            duration(gc_ns),
            duration(limit.as_nanos() as u64)
        )
    })
}

fn copy_ns(rss: u64) -> u64 {
    LISTS_NS + (rss >> 20).saturating_mul(FORK_NS_OF_MIB)
}

/// Returns why no copy can look at its pages: the kernel shows them only to a process that is dumpable.
pub(super) fn refusal_of_pagemap() -> Option<String> {
    // SAFETY: the call reads a number.
    let is_dumpable = unsafe { libc::prctl(libc::PR_GET_DUMPABLE, 0, 0, 0, 0) } == 1;
    let is_readable = OwnFile::open(c"/proc/self/pagemap").is_some();
    (!is_readable).then(|| {
        let why = if is_dumpable { "" } else { ", because it is not dumpable (setuid, file capabilities or prctl)" };
        format!("no owners can be found: the system does not let the process read its own /proc/self/pagemap{why}")
    })
}
