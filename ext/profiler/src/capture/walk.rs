//! From a stack to a record: a few static buffers to walk into, and then exactly the room needed.

use ::core::cell::UnsafeCell;
use ::core::ffi::c_int;
use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicBool, Ordering};

use ::profiler_core::counters::count;
use ::profiler_core::hub::Hub;
use ::profiler_core::sample::{push, Stamp, Walk};

use super::CAPTURE;
use crate::vm;

/// The deepest stack of which both ends are seen. Deeper ones lose their root.
pub(crate) const WALK_LIMIT: usize = 10_000;

/// One is in use at a time, mostly; two or three with threads that burn CPU without the GVL.
const BUFFERS: usize = 4;

struct Scratch {
    taken: AtomicBool,
    handles: UnsafeCell<[u64; WALK_LIMIT]>,
    lines: UnsafeCell<[c_int; WALK_LIMIT]>,
}

// SAFETY: the cells are touched only between a successful exchange of `taken` and its release.
unsafe impl Sync for Scratch {}

static SCRATCH: [Scratch; BUFFERS] = [const {
    Scratch {
        taken: AtomicBool::new(false),
        handles: UnsafeCell::new([0; WALK_LIMIT]),
        lines: UnsafeCell::new([0; WALK_LIMIT]),
    }
}; BUFFERS];

impl Scratch {
    /// The first buffer that is free. Acquire pairs with the Release in `give_back`.
    fn take() -> Option<&'static Self> {
        let free =
            |it: &&Self| it.taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok();
        SCRATCH.iter().find(free)
    }

    fn give_back(&self) {
        self.taken.store(false, Ordering::Release);
    }
}

/// Walks the stack of the thread that we are on and publishes it under `stamp`, or counts why not.
///
/// *Runs on:* the thread itself, in the handler or in a postponed job. *GVL:* not needed.
/// *Calls:* `rb_profile_frames`. *Never:* during GC; the caller has counted itself in flight.
#[inline]
pub(crate) fn record(hub: &Hub, stamp: &Stamp) {
    let counters = &hub.counters;
    let Some(scratch) = Scratch::take() else { return count(&counters.dropped_busy) };
    // SAFETY: the buffers are ours until they are given back; the caller saw to the rest.
    let frames =
        unsafe { vm::frames::walk(scratch.handles.get().cast(), scratch.lines.get().cast(), WALK_LIMIT) };
    // SAFETY: the walk wrote the first `frames` of both.
    let (handles, lines) = unsafe {
        (
            ::core::slice::from_raw_parts(scratch.handles.get().cast::<u64>(), frames),
            ::core::slice::from_raw_parts(scratch.lines.get().cast::<c_int>(), frames),
        )
    };
    let depth = CAPTURE.depth.load(Ordering::Relaxed);
    let rootless = frames >= WALK_LIMIT;
    let pushed = if frames == 0 {
        count(&counters.dropped_no_frames);
        None
    } else {
        Some(push(&hub.ring, stamp, Walk { handles, lines, rootless }, depth))
    };
    scratch.give_back();
    match pushed {
        Some(Ok(())) => {
            count(&counters.captured);
            if rootless || frames > depth {
                count(&counters.truncated);
            }
        }
        Some(Err(_)) => count(&counters.dropped_full),
        None => {}
    }
}

/// Publishes a record without frames: its state says all.
#[inline]
pub(crate) fn record_gc(hub: &Hub, stamp: &Stamp) {
    let walk = Walk { handles: &[], lines: &[], rootless: false };
    match push(&hub.ring, stamp, walk, WALK_LIMIT) {
        Ok(()) => {
            count(&hub.counters.captured);
            count(&hub.counters.captured_in_gc);
        }
        Err(_) => count(&hub.counters.dropped_full),
    }
}

/// Takes all buffers, or gives them back: so that a spec can see what happens when none is free.
#[cfg(feature = "testing")]
pub(crate) fn hold_all(hold: bool) {
    SCRATCH.iter().for_each(|it| it.taken.store(hold, Ordering::Release));
}
