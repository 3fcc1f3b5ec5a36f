//! From a stack to a record: a walk into one of a few static buffers, and then exactly the space that the
//! record needs.
//!
//! A buffer knows its thread, so that a collecting thread does not wait for a buffer of its own.

use ::core::cell::UnsafeCell;
use ::core::ffi::c_int;
use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{fence, AtomicUsize, Ordering};

use ::profiler_core::pipeline::hub::Hub;
use ::profiler_core::record::counters::count;
use ::profiler_core::record::{push, Header, Kind, Walk};

use crate::before_3_3;
use crate::shared::CAPTURE;
use crate::sys::native_thread;
use crate::vm;

/// The deepest stack of which both ends are seen. Deeper ones lose their root.
pub(crate) const WALK_LIMIT: usize = 10_000;

/// The number of scratch buffers. Usually one is in use; two or three if threads burn CPU without the GVL.
const BUFFERS: usize = 4;

const FREE: usize = 0;
/// The holder of a buffer that a spec has taken away: no thread walks in it. No thread has this identity,
/// which is an address.
#[cfg(feature = "testing")]
const HELD: usize = 1;

struct Buffers {
    /// The `pthread_self()` of the thread that walks, or [`FREE`].
    holder: AtomicUsize,
    handles: UnsafeCell<[u64; WALK_LIMIT]>,
    lines: UnsafeCell<[c_int; WALK_LIMIT]>,
}

// SAFETY: the cells are touched only between a successful exchange of `holder` and its release.
unsafe impl Sync for Buffers {}

static BUFFER: [Buffers; BUFFERS] = [const {
    Buffers {
        holder: AtomicUsize::new(FREE),
        handles: UnsafeCell::new([0; WALK_LIMIT]),
        lines: UnsafeCell::new([0; WALK_LIMIT]),
    }
}; BUFFERS];

/// The frames of a thread, as a copy of the process sees them.
pub(crate) struct CopiedFrames {
    count: usize,
    handles: [u64; WALK_LIMIT],
    lines: [c_int; WALK_LIMIT],
}

impl CopiedFrames {
    /// Walks the stack of `thread` into `copied`, in a copy of the process.
    ///
    /// # Safety
    /// Nothing changes what is read, `thread` is a live Thread, and only the caller uses `copied`.
    pub(crate) unsafe fn walk(copied: *mut Self, thread: u64) {
        // SAFETY: both buffers hold `WALK_LIMIT`; the Thread is live, and nothing changes what is read.
        unsafe {
            let (handles, lines) = ((&raw mut (*copied).handles).cast(), (&raw mut (*copied).lines).cast());
            (*copied).count = vm::frames::walk_of(thread, handles, lines, WALK_LIMIT);
        }
    }
}

/// A buffer that this handler owns until it is dropped. The GC waits for the walk until then.
pub(crate) struct Scratch(&'static Buffers);

impl Scratch {
    /// Claims the first free buffer, or returns `None`.
    ///
    /// # Signal safety
    /// A few atomic exchanges at most.
    #[inline]
    pub(crate) fn take() -> Option<Self> {
        let me = native_thread::pthread_self();
        // Acquire pairs with the Release in `drop`.
        let free =
            |it: &&Buffers| it.holder.compare_exchange(FREE, me, Ordering::SeqCst, Ordering::Relaxed).is_ok();
        let taken = BUFFER.iter().find(free).map(Self);
        // The caller's next question must not be answered before the exchange is visible. This pairs with the
        // fence in `wait_for_walks`. On x86-64 the exchange itself ensures that.
        #[cfg(not(target_arch = "x86_64"))]
        fence(Ordering::SeqCst);
        taken
    }
}

impl Drop for Scratch {
    #[inline]
    fn drop(&mut self) {
        self.0.holder.store(FREE, Ordering::Release);
    }
}

/// Waits until no handler is walking. Only for the mark function: garbage is being collected, so a handler
/// that begins now notices it and does not walk. A walk takes microseconds and needs nothing that the waiting
/// thread holds.
///
/// A buffer of the collecting thread itself counts as free: no handler runs there now. A buffer may be left
/// behind by a jump out of a handler, such as that of Ruby's handler of SIGSEGV, and would otherwise be
/// waited for without end.
pub(crate) fn wait_for_walks() {
    let me = native_thread::pthread_self();
    // Pairs with `Scratch::take`: either the handler sees that garbage is being collected, or this thread
    // sees the handler.
    fence(Ordering::SeqCst);
    for buffer in &BUFFER {
        // Acquire pairs with the Release in `drop`: the records are in the ring.
        while is_walking(buffer.holder.load(Ordering::Acquire)) {
            if buffer.holder.compare_exchange(me, FREE, Ordering::Relaxed, Ordering::Relaxed).is_err() {
                native_thread::yield_now();
            }
        }
    }
}

fn is_walking(holder: usize) -> bool {
    #[cfg(feature = "testing")]
    if holder == HELD {
        return false;
    }
    holder != FREE
}

/// Frees all buffers, in a forked child: the threads that walked in the parent do not exist here.
pub(crate) fn free_all() {
    BUFFER.iter().for_each(|it| it.holder.store(FREE, Ordering::Release));
}

impl Scratch {
    /// Walks the stack of the calling thread and publishes it under `header`. Otherwise counts the reason and
    /// returns false.
    ///
    /// *Runs on:* the thread itself, in the handler or in a postponed job. *GVL:* not needed. *Calls:*
    /// `rb_profile_frames`. *Never:* during GC, which is checked after the buffers were taken; the hook at
    /// the end of a GC is the exception.
    #[inline]
    pub(crate) fn record(&self, hub: &Hub, kind: Kind, header: &Header) -> bool {
        // SAFETY: the buffers are ours until we are dropped. The caller made sure that the thread is Ruby's
        // and that no garbage is being collected.
        self.publish(hub, kind, header, |handles, lines| unsafe {
            vm::frames::walk(handles, lines, WALK_LIMIT)
        })
    }

    /// Walks the stack of another thread and publishes it under `header`.
    ///
    /// # Safety
    /// The caller holds the GVL; `thread` is a live Thread; no garbage is being collected.
    pub(crate) unsafe fn record_of(&self, hub: &Hub, thread: u64, kind: Kind, header: &Header) {
        // SAFETY: the buffers are ours until we are dropped; the caller holds the GVL, `thread` is alive, and
        // no garbage is being collected.
        self.publish(hub, kind, header, |handles, lines| unsafe {
            vm::frames::walk_of(thread, handles, lines, WALK_LIMIT)
        });
    }

    /// Publishes frames that were walked in a copy of the process. The caller sees to it that the VM still
    /// has them.
    pub(crate) fn record_copied(
        &self,
        hub: &Hub,
        kind: Kind,
        header: &Header,
        copied: &CopiedFrames,
    ) -> bool {
        self.publish(hub, kind, header, |handles, lines| {
            let count = copied.count.min(WALK_LIMIT);
            // SAFETY: all four hold `WALK_LIMIT`, and these buffers are ours until we are dropped.
            unsafe {
                handles.copy_from_nonoverlapping(copied.handles.as_ptr(), count);
                lines.copy_from_nonoverlapping(copied.lines.as_ptr(), count);
            }
            count
        })
    }

    /// Publishes a record without a walk, for an event that has no stack.
    pub(crate) fn record_empty(&self, hub: &Hub, kind: Kind, header: &Header) -> bool {
        self.publish(hub, kind, header, |_, _| 0)
    }

    /// Publishes the frames that `walk` leaves in the buffers as a record. `walk` returns their number.
    #[inline]
    fn publish(
        &self,
        hub: &Hub,
        kind: Kind,
        header: &Header,
        walk: impl FnOnce(*mut u64, *mut c_int) -> usize,
    ) -> bool {
        let (handles, lines) = (self.0.handles.get().cast::<u64>(), self.0.lines.get().cast::<c_int>());
        let frames = walk(handles, lines);
        // If waits are sampled, one without a stack belongs to a thread that has ended.
        if frames == 0 && (kind == Kind::Tick || kind == Kind::Wait && before_3_3::NEEDED) {
            count(&hub.counters.dropped_no_frames);
            return false;
        }
        // SAFETY: the walk wrote the first `frames` entries of both buffers.
        let (handles, lines) = unsafe {
            (::core::slice::from_raw_parts(handles, frames), ::core::slice::from_raw_parts(lines, frames))
        };
        let depth = CAPTURE.depth.load(Ordering::Relaxed);
        let rootless = frames >= WALK_LIMIT;
        if push(&hub.ring, kind, header, Walk { handles, lines, rootless }, depth).is_err() {
            count(&hub.counters.dropped_full);
            return false;
        }
        CAPTURE.note_record(hub);
        if rootless || frames > depth {
            count(&hub.counters.truncated);
        }
        true
    }
}

/// Takes all buffers, or releases them, so that a spec can see what happens if none is free.
#[cfg(feature = "testing")]
pub(crate) fn hold_all(hold: bool) {
    let (from, to) = if hold { (FREE, HELD) } else { (HELD, FREE) };
    for buffer in &BUFFER {
        // A walk in flight is allowed to finish.
        while let Err(holder) = buffer.holder.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed)
        {
            if holder == to {
                break;
            }
            native_thread::yield_now();
        }
    }
}

/// Leaves a buffer taken, as a jump out of a handler would.
#[cfg(feature = "testing")]
pub(crate) fn leave_one_taken() {
    if let Some(scratch) = Scratch::take() {
        ::core::mem::forget(scratch);
    }
}
