//! Threads that have ended recently. Ruby lists a thread until its end is complete, and other threads may run
//! while the list is made. So a list may name a thread that has just ended.
//!
//! The state of a thread that is missing from a list ends only if the state is older than the list.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const KEPT: usize = 64;

static COUNT: AtomicU64 = AtomicU64::new(0);
static RECENT: [AtomicU64; KEPT] = [const { AtomicU64::new(0) }; KEPT];

/// Notes that the Thread `object` has ended. On that thread, with the GVL or as it releases the GVL for good.
pub(crate) fn note(object: u64) {
    let count = COUNT.load(Relaxed);
    if let Some(place) = RECENT.get(count as usize % KEPT) {
        place.store(object, Relaxed);
    }
    COUNT.store(count + 1, Relaxed);
}

/// Returns the number of threads that have ended so far.
pub(crate) fn count() -> u64 {
    COUNT.load(Relaxed)
}

/// Returns the threads that ended since the count was `before`, as far as they are kept, and whether these
/// are all.
pub(crate) fn since(before: u64) -> (Vec<u64>, bool) {
    let count = count();
    let many = usize::try_from(count - before).unwrap_or(usize::MAX);
    let of = |at: u64| RECENT.get(at as usize % KEPT).map_or(0, |it| it.load(Relaxed));
    ((count - many.min(KEPT) as u64..count).map(of).collect(), many <= KEPT)
}
