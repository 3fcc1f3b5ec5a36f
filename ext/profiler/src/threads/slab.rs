//! The states themselves, and a bit for each that says whether it is in use.
//!
//! A pass through them (a mark, a start, the ticker) visits the states in use, and not as many as there ever were. A process
//! that once had 8,000 threads reads 128 words more than one that never had.
//!
//! A bit is set between the claim of a state and its first life, and cleared before the state is free again. So a state with a
//! life that matters to anybody has its bit. The bit of a free state is nobody's, so the next claim cannot lose its own to a
//! thread that frees.

use std::sync::atomic::{
    AtomicU64, AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

use crate::threads::state::{ThreadState, CLAIMED, FREE};

/// The most threads that can be profiled at once. The slab is zeroed memory, given page by page: unused pages take none.
const CAPACITY: usize = 8192;
const BITS: usize = u64::BITS as usize;
const WORDS: usize = CAPACITY / BITS;

static SLAB: [ThreadState; CAPACITY] = [const { ThreadState::new() }; CAPACITY];
static IN_USE: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];
/// The index from which on the words of [`IN_USE`] never had a bit.
static USED_WORDS: AtomicUsize = AtomicUsize::new(0);
/// The time of handlers on threads that are gone, ns.
static RETIRED_HANDLER_NS: AtomicU64 = AtomicU64::new(0);

/// The state at an address that a signal brought, if it is one of ours.
///
/// # Signal safety
/// Three comparisons.
#[inline]
pub(crate) fn at(address: usize) -> Option<&'static ThreadState> {
    place(address).and_then(|place| SLAB.get(place))
}

fn place(address: usize) -> Option<usize> {
    let offset = address.checked_sub(SLAB.as_ptr() as usize)?;
    (offset % size_of::<ThreadState>() == 0).then_some(offset / size_of::<ThreadState>())
}

/// The states that are not free.
///
/// # Signal safety
/// Loads.
pub(crate) fn in_use() -> impl Iterator<Item = &'static ThreadState> {
    // Acquire pairs with the Release in `claim`.
    let words = IN_USE.get(..USED_WORDS.load(Acquire)).unwrap_or(&[]);
    words.iter().zip(SLAB.chunks_exact(BITS)).flat_map(|(word, states)| {
        let mut left = word.load(Acquire);
        std::iter::from_fn(move || {
            let state = states.get(left.trailing_zeros() as usize)?; // 64, which is none, if no bit is left
            left &= left - 1;
            Some(state)
        })
    })
}

/// A free state, claimed from now on; nothing when all are claimed. With the GVL, so one at a time.
pub(super) fn claim() -> Option<&'static ThreadState> {
    for (number, (word, states)) in IN_USE.iter().zip(SLAB.chunks_exact(BITS)).enumerate() {
        let mut free = !word.load(Relaxed);
        while let Some(state) = states.get(free.trailing_zeros() as usize) {
            let bit = free & free.wrapping_neg();
            free &= !bit;
            // Its bit may be clear already while it is not free yet. Acquire pairs with the Release in `free`.
            if state.phase.compare_exchange(FREE, CLAIMED, Acquire, Relaxed).is_ok() {
                word.fetch_or(bit, AcqRel);
                USED_WORDS.fetch_max(number + 1, Release);
                return Some(state);
            }
        }
    }
    None
}

/// Frees a state that only the caller uses.
pub(super) fn free(state: &ThreadState) {
    // Before its bit is cleared: see `handler_ns`.
    RETIRED_HANDLER_NS.fetch_add(state.handler.own_ns(), Relaxed);
    state.handler.retire();
    if let Some(place) = place(std::ptr::from_ref(state) as usize) {
        if let Some(word) = IN_USE.get(place / BITS) {
            word.fetch_and(!(1 << (place % BITS)), AcqRel);
        }
    }
    // Release pairs with the Acquire in `claim`: whoever claims it sets the bit after it was cleared.
    state.phase.store(FREE, Release);
}

/// Time spent in signal handlers since the process began, all threads, ns.
pub(crate) fn handler_ns() -> u64 {
    // In this order a state that is freed meanwhile counts twice. In the other order it would not count at all.
    let in_use_ns = in_use().map(|state| state.handler.own_ns()).fold(0, u64::wrapping_add);
    in_use_ns.wrapping_add(RETIRED_HANDLER_NS.load(Relaxed))
}

/// The ticks that were delivered since the process began, all threads.
pub(crate) fn ticks() -> u64 {
    let ever = SLAB.iter().take(USED_WORDS.load(Acquire) * BITS);
    ever.map(|state| state.ticks.all()).fold(0, u64::wrapping_add)
}

/// All live threads. Visits states in use alone, however many there once were.
///
/// # Signal safety
/// Loads.
pub(crate) fn live() -> impl Iterator<Item = &'static ThreadState> {
    in_use().filter(|state| state.is_live())
}
