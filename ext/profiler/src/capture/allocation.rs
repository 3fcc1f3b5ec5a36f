//! The samples of allocated objects: a hook counts objects, and now and then samples one. The rules of this folder hold here as
//! well, with one more freedom. The hook can interrupt nothing of ours, so where the ring is full it is drained here.
//!
//! A sample is open until its weight is known: see [`AllocationSampler`]. Its frames wait in a buffer, which the mark function
//! knows. Samples that are alike are summed up before they are sent: see [`Sums`].
//!
//! All of this is guarded by the GVL of the main Ractor. Hooks on allocation do nothing in other Ractors, so the objects are the main
//! one's. Hooks on freed objects run where every Ractor stands still, on the thread that collects.
//!
//! * The accounts are closed ([`flush`]) where a session starts, stops, pauses, resumes or takes a snapshot. The open
//!   sample gets the objects allocated up to here, objects without a sample are `(unsampled)`, and a new window begins.
//!   So each session gets exactly what was allocated while it ran, whatever other sessions do.
//! * By bytes, another hook counts down bytes of slots in place of objects. A sample knows the size of its object, and
//!   so the number of objects in its window; fractions are carried on. Where sessions count differently, all count
//!   objects, often enough for each.
//! * The class is carried as a handle, marked like those of frames, and named with them.
//! * Allocation records have no weight in time, and carry a clock only for a timeline, so they switch no session.
//!
//! `:allocations` is the main Ractor's own count, on each Ruby. Sums by Ractor were the alternative. But sessions have
//! the threads, labels and scopes of one Ractor, a sample needs its stack and its thread, and each Ractor would need a
//! state of its own.

use ::core::cell::UnsafeCell;
use ::core::matches;
use ::core::prelude::rust_2021::*;

use ::profiler_core::sampling::allocation_sampler::{AllocationSampler, Window};

use self::heap::Tables;
pub(crate) use self::heap::{has_table, is_tracking, live_objects, relocate};
use self::objects::{Objects, Pending};
pub(crate) use self::site::own_objects;
use self::sums::Sums;
use crate::capture::walk::WALK_LIMIT;
use crate::shared::CAPTURE;
use crate::sys::clock;
use crate::threads;
use crate::vm::allocations;

mod countdown;
mod heap;
mod objects;
mod site;
mod sums;

/// The number of samples of which one is timed, for all of them: reading a clock is a good part of the cost of one.
const TIMED: u64 = 32;
/// The longest time that counts for a sample: for more, another thread had the processor.
const LONGEST_NS: u64 = 100_000;

/// State that only the holder of the GVL touches, and never in a signal handler.
struct Guarded(UnsafeCell<Objects>);

// SAFETY: whoever touches it has the GVL of the main Ractor, or collects garbage. Then the main one stands still: it waits for the VM's
// lock, and it holds no reference to this over a call that may do that.
unsafe impl Sync for Guarded {}

// All zeros: it takes memory only where it is used, and no space in the library's file.
static OBJECTS: Guarded = Guarded(UnsafeCell::new(Objects {
    sampler: AllocationSampler::IDLE,
    open: Pending::None,
    hooked: None,
    by_bytes: false,
    carried: 0,
    timed: false,
    tables: Tables::NONE,
    handles: [0; WALK_LIMIT],
    lines: [0; WALK_LIMIT],
    sums: Sums::new(),
    at_marking: (0, 0),
    sample_count: 0,
}));

/// The demand of all sessions for samples of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Demand {
    /// The sampling window; `None` if no session samples objects.
    pub(crate) every: Option<Window>,
    /// Whether each sample has a time.
    pub(crate) timed: bool,
    /// Whether live objects are tracked, also while no session samples.
    pub(crate) heap: bool,
}

/// Flushes pending samples to the current sessions, then applies the new settings. With the GVL, outside of the hook.
pub(crate) fn apply(demand: Demand) {
    close_window(demand.every);
    let hook = demand.every.map(countdown::hook);
    // SAFETY: the GVL is held.
    let by_vm = hook.map_or(0, |_| unsafe { allocations::total_allocated() });
    let before = {
        // SAFETY: the GVL is held, and we are not in a hook. Nothing here lets the GC run, which reads this too.
        let it = unsafe { &mut *OBJECTS.0.get() };
        it.timed = demand.timed;
        it.at_marking = (it.now(), by_vm);
        ::core::mem::replace(&mut it.hooked, hook)
    };
    if before.map(|it| it as usize) != hook.map(|it| it as usize) {
        // SAFETY: the GVL is held; the hooks make no objects and raise nothing.
        unsafe {
            before.into_iter().for_each(|it| allocations::remove_hook(it));
            hook.into_iter().for_each(|it| allocations::add_hook(it));
        }
    }
    heap::track(demand.heap);
}

/// Whether objects are sampled. With the GVL, outside of the hook.
pub(crate) fn is_on() -> bool {
    // SAFETY: as promised.
    unsafe { (*OBJECTS.0.get()).hooked.is_some() }
}

/// Sends all that was counted up to here to the ring. The next sample is for the sessions from here on. With the GVL, outside
/// of the hook.
pub(crate) fn flush() {
    close_window(None);
}

fn close_window(every: Option<Window>) {
    let Some(hub) = CAPTURE.hub() else { return };
    // SAFETY: the GVL is held, and we are not in the hook, which calls nothing of this.
    let it = unsafe { &mut *OBJECTS.0.get() };
    let now = it.now();
    let rest = it.sampler.close_window(now, every.map_or(it.sampler.window(), Window::size));
    if let Some(open) = it.open.take() {
        it.send_sample(hub, &open, rest);
    } else if rest > 0 {
        it.send_unsampled(hub, rest);
    }
    it.send_sums(hub);
    it.by_bytes = every.map_or(it.by_bytes, |every| matches!(every, Window::Bytes(_)));
    it.wait_for_next(now);
}

/// Sends all sums to the ring: their frames are kept alive by tables that are about to be renewed. With the GVL, outside of the
/// hook.
pub(crate) fn send_sums() {
    let Some(hub) = CAPTURE.hub() else { return };
    // SAFETY: the GVL is held, and we are not in the hook, which calls nothing of this.
    let it = unsafe { &mut *OBJECTS.0.get() };
    if let Pending::Open(open) = &mut it.open {
        open.place = None; // it becomes a record of its own
    }
    it.send_sums(hub);
}

/// Forgets, in a forked child, all that was counted, which is the parent's.
pub(crate) fn start_over() {
    // SAFETY: the thread that forked has the GVL, and there is no other.
    let it = unsafe { &mut *OBJECTS.0.get() };
    let now = it.now();
    it.sampler.close_window(now, it.sampler.window());
    it.open = Pending::None;
    if let Some(tracked) = &mut it.tables.used {
        tracked.clear();
    }
    it.sums.forget();
    it.wait_for_next(now);
}

/// Calls `mark` with every handle that waits here. For the mark function.
pub(crate) fn each_handle(mut mark: impl FnMut(u64)) {
    // SAFETY: garbage is being collected, so nobody is in the hook.
    let it = unsafe { &*OBJECTS.0.get() };
    if let Pending::Open(open) = it.open {
        it.handles.iter().take(open.frames).for_each(|handle| mark(*handle));
        open.site.class.handle().into_iter().for_each(mark);
    }
}

/// Calls `mark` with the handles of all sums. The tables keep these, unless they are full.
pub(crate) fn each_summed_handle(mark: impl FnMut(u64)) {
    // SAFETY: as above.
    unsafe { &*OBJECTS.0.get() }.sums.each_handle(mark);
}

/// Ends the counting, as the VM shuts down.
pub(crate) fn end() {
    countdown::begin(i64::MAX);
}

/// Whether the hook was not called for some objects that the VM has allocated since the last marking. For the mark function,
/// once in each marking.
pub(crate) fn is_silent() -> bool {
    // SAFETY: garbage is being collected, so nobody is in the hook.
    let it = unsafe { &mut *OBJECTS.0.get() };
    if it.hooked.is_none() {
        return false;
    }
    // SAFETY: the GVL is held, and `apply` has asked before.
    let now = (it.now(), unsafe { allocations::total_allocated() });
    let before = ::core::mem::replace(&mut it.at_marking, now);
    let least = if it.by_bytes { allocations::ONE_SIZE } else { 1 };
    now.1.saturating_sub(before.1).saturating_mul(least) > now.0.saturating_sub(before.0)
}

/// Returns whether the hook is called for the object that `allocate` allocates, or none is there. With the GVL, outside of the hook.
pub(crate) fn sees(allocate: impl FnOnce()) -> bool {
    // SAFETY: the caller holds the GVL and is outside of the hook. No reference is held while the object is allocated.
    let count = || unsafe { (*OBJECTS.0.get()).hooked.map(|_| (*OBJECTS.0.get()).now()) };
    let before = count();
    allocate();
    before.is_none() || before != count()
}

/// Samples the object that is due.
///
/// *Runs on:* the thread that allocates the object. *GVL:* held. *Calls:* a walk, and reads of the object. *Never:* allocates
/// an object or raises.
///
/// # Safety
/// `trace_arg` is what the hook was called with, on a thread of the main Ractor.
#[cold]
#[inline(never)]
unsafe fn sample_object(trace_arg: *mut ::core::ffi::c_void) {
    let Some(hub) = CAPTURE.hub() else { return };
    // SAFETY: the hook is not entered twice, as it makes no object; who else touches this has the GVL.
    let it = unsafe { &mut *OBJECTS.0.get() };
    it.sample_count = it.sample_count.wrapping_add(1);
    let begun_ns = (u64::from(it.sample_count) % TIMED == 0).then(clock::monotonic_ns);
    let now = it.now();
    let before = it.sampler.next_sample();
    if let Some(open) = it.open.take() {
        it.send_sample(hub, &open, before);
    }
    // SAFETY: as promised.
    let mut open = unsafe { it.open_sample(hub, allocations::allocated_object(trace_arg)) };
    while it.sampler.due() <= now {
        open.known += it.sampler.next_sample();
    }
    it.open = Pending::Open(open);
    it.wait_for_next(now);
    if let (Some(begun_ns), Some(state)) = (begun_ns, threads::current_native()) {
        let took_ns = clock::monotonic_ns().wrapping_sub(begun_ns).min(LONGEST_NS);
        state.handler.add(took_ns * TIMED);
    }
}
