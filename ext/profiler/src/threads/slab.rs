//! The states themselves, and a bit for each that says whether it is in use.
//!
//! A pass through them (a mark, a start, the ticker) visits the states in use, not all that were ever used. A
//! process that once had 8,000 threads reads 128 words more than one that never had.
//!
//! A bit is set between the claim of a state and its first life, and cleared before the state is free again.
//! So every state whose life matters has its bit. No thread owns the bit of a free state, so the next claim
//! cannot lose its own to a thread that frees.

use std::sync::atomic::{
    AtomicU64, AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

use crate::threads::state::{ThreadState, CLAIMED, FREE};

/// The largest number of threads that can be profiled at once. The slab is zeroed memory that the system
/// provides page by page, so unused pages occupy none.
const CAPACITY: usize = 8192;
const BITS: usize = u64::BITS as usize;
const WORDS: usize = CAPACITY / BITS;

static SLAB: [ThreadState; CAPACITY] = [const { ThreadState::new() }; CAPACITY];
static IN_USE: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];
/// The index from which on the words of [`IN_USE`] never had a bit.
static USED_WORDS: AtomicUsize = AtomicUsize::new(0);
/// The time of handlers on threads that have ended, in nanoseconds.
static RETIRED_HANDLER_NS: AtomicU64 = AtomicU64::new(0);

/// Returns the state at an address from a signal, if the address is that of a state.
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

/// Returns the states that are not free.
///
/// # Signal safety
/// Loads.
pub(crate) fn in_use() -> impl Iterator<Item = &'static ThreadState> {
    // Acquire pairs with the Release in `claim`.
    let words = IN_USE.get(..USED_WORDS.load(Acquire)).unwrap_or(&[]);
    words.iter().zip(SLAB.chunks_exact(BITS)).flat_map(|(word, states)| {
        let mut left = word.load(Acquire);
        std::iter::from_fn(move || {
            let state = states.get(left.trailing_zeros() as usize)?; // 64, an index out of range, if no bit is left
            left &= left - 1;
            Some(state)
        })
    })
}

/// Claims a free state; returns `None` if all are claimed. With the GVL, so only one call at a time.
pub(super) fn claim() -> Option<&'static ThreadState> {
    for (number, (word, states)) in IN_USE.iter().zip(SLAB.chunks_exact(BITS)).enumerate() {
        let mut free = !word.load(Relaxed);
        while let Some(state) = states.get(free.trailing_zeros() as usize) {
            let bit = free & free.wrapping_neg();
            free &= !bit;
            // The bit may already be clear while the state is not free yet. Acquire pairs with the Release in
            // `free`.
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
    // The time is added before the bit is cleared: see `handler_ns`.
    RETIRED_HANDLER_NS.fetch_add(state.handler.own_ns(), Relaxed);
    state.handler.retire();
    if let Some(place) = place(std::ptr::from_ref(state) as usize) {
        if let Some(word) = IN_USE.get(place / BITS) {
            word.fetch_and(!(1 << (place % BITS)), AcqRel);
        }
    }
    // Release pairs with the Acquire in `claim`: whoever claims the state sets the bit after it was cleared.
    state.phase.store(FREE, Release);
}

/// Returns the time in nanoseconds that all threads have spent in signal handlers since the process began.
pub(crate) fn handler_ns() -> u64 {
    // In this order a state that is freed meanwhile counts twice. In the other order it would not count at
    // all.
    let in_use_ns = in_use().map(|state| state.handler.own_ns()).fold(0, u64::wrapping_add);
    in_use_ns.wrapping_add(RETIRED_HANDLER_NS.load(Relaxed))
}

/// Returns the number of ticks delivered to all threads since the process began.
pub(crate) fn ticks() -> u64 {
    let ever = SLAB.iter().take(USED_WORDS.load(Acquire) * BITS);
    ever.map(|state| state.ticks.all()).fold(0, u64::wrapping_add)
}

/// Returns all live threads. Visits only states in use, however many there once were.
///
/// # Signal safety
/// Loads.
pub(crate) fn live() -> impl Iterator<Item = &'static ThreadState> {
    in_use().filter(|state| state.is_live())
}
