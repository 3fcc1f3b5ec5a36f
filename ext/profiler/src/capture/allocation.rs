//! Samples of allocated objects: a hook counts objects and now and then samples one. The rules of this folder
//! apply here as well, with one more freedom: the hook can interrupt none of our own code, so it drains the
//! ring if it finds it full.
//!
//! A sample is open until its weight is known: see [`AllocationSampler`]. Its frames wait in a buffer that
//! the mark function knows. Equal samples are summed before they are sent: see [`SiteSums`].
//!
//! The GVL of the main Ractor guards all of this. Hooks on allocation do nothing in other Ractors, so all
//! sampled objects belong to the main one. Hooks on freed objects run on the collecting thread, while every
//! Ractor stands still.
//!
//! * The accounts are closed ([`flush`]) where a session starts, stops, pauses, resumes or takes a snapshot.
//!   The open sample receives the objects allocated up to this point, objects without a sample are
//!   `(unsampled)`, and a new window begins. So each session gets exactly what was allocated while it ran,
//!   whatever other sessions do.
//! * To sample by bytes, another hook counts down bytes of slots instead of objects. A sample knows the size
//!   of its object, and therefore the number of objects in its window; fractions are carried over. If
//!   sessions count differently, all of them count objects, often enough for each.
//! * The class is carried as a handle, and is marked and named like the handles of frames.
//! * Allocation records carry no time, and a clock reading only for a timeline, so they never change a
//!   thread's state.
//!
//! `:allocations` is the main Ractor's own count, on every Ruby. The alternative was a sum for each Ractor.
//! But a session has the threads, labels and scopes of one Ractor, a sample needs its stack and its thread,
//! and each Ractor would need state of its own.

use ::core::cell::UnsafeCell;
use ::core::matches;
use ::core::prelude::rust_2021::*;

use ::profiler_core::sampling::allocation_sampler::{AllocationSampler, Window};

use self::heap::ObjectTables;
pub(crate) use self::heap::{has_table, is_tracking, live_objects, relocate};
use self::objects::{ObjectSampler, PendingObject};
pub(crate) use self::site::own_objects;
use self::sums::SiteSums;
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

/// The number of samples for each one that is timed, on behalf of all of them: reading a clock is a good part
/// of a sample's overhead.
const TIMED: u64 = 32;
/// The longest time that is counted for one sample. After a longer one, another thread had the processor.
const LONGEST_NS: u64 = 100_000;

/// State that only the holder of the GVL touches, and never in a signal handler.
struct Guarded(UnsafeCell<ObjectSampler>);

// SAFETY: whoever touches the cell holds the GVL of the main Ractor, or collects garbage. During a collection
// the main Ractor stands still: it waits for the VM's lock, and it keeps no reference to this state across a
// call that may do so.
unsafe impl Sync for Guarded {}

// All zeros, so the state occupies memory only once it is used, and no space in the library's file.
static OBJECTS: Guarded = Guarded(UnsafeCell::new(ObjectSampler {
    sampler: AllocationSampler::IDLE,
    open: PendingObject::None,
    hooked: None,
    by_bytes: false,
    carried: 0,
    timed: false,
    tables: ObjectTables::NONE,
    handles: [0; WALK_LIMIT],
    lines: [0; WALK_LIMIT],
    sums: SiteSums::new(),
    at_marking: (0, 0),
    sample_count: 0,
}));

/// The demand of all sessions for samples of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ObjectDemand {
    /// The sampling window; `None` if no session samples objects.
    pub(crate) every: Option<Window>,
    /// True if each sample has a time.
    pub(crate) timed: bool,
    /// True if live objects are tracked, even while no session samples.
    pub(crate) heap: bool,
}

/// Flushes pending samples to the current sessions, then applies the new settings. The caller holds the GVL
/// and is outside of the hook.
pub(crate) fn apply(demand: ObjectDemand) {
    close_window(demand.every);
    let hook = demand.every.map(countdown::hook);
    // SAFETY: the GVL is held.
    let by_vm = hook.map_or(0, |_| unsafe { allocations::total_allocated() });
    let before = {
        // SAFETY: the GVL is held, and we are not in a hook. Nothing here can start a GC, which reads this
        // state too.
        let objects = unsafe { &mut *OBJECTS.0.get() };
        objects.timed = demand.timed;
        objects.at_marking = (objects.now(), by_vm);
        ::core::mem::replace(&mut objects.hooked, hook)
    };
    if before.map(|it| it as usize) != hook.map(|it| it as usize) {
        // SAFETY: the GVL is held; the hooks create no objects and never raise.
        unsafe {
            before.into_iter().for_each(|it| allocations::remove_hook(it));
            hook.into_iter().for_each(|it| allocations::add_hook(it));
        }
    }
    heap::track(demand.heap);
}

/// Returns whether objects are sampled. The caller holds the GVL and is outside of the hook.
pub(crate) fn is_on() -> bool {
    // SAFETY: the caller holds the GVL and is outside of the hook, so no other code writes meanwhile.
    unsafe { (*OBJECTS.0.get()).hooked.is_some() }
}

/// Sends everything counted so far to the ring, so that the next sample belongs to the sessions from here on.
/// The caller holds the GVL and is outside of the hook.
pub(crate) fn flush() {
    close_window(None);
}

/// Runs `work`, whose objects belong to no session, as it lists threads for a result. The caller holds the GVL
/// and is outside of the hook.
pub(crate) fn as_own_work<T>(work: impl FnOnce() -> T) -> T {
    if !is_on() {
        return work();
    }
    flush();
    site::OWN_WORK.store(true, ::core::sync::atomic::Ordering::Relaxed);
    let done = work();
    flush();
    site::OWN_WORK.store(false, ::core::sync::atomic::Ordering::Relaxed);
    done
}

fn close_window(every: Option<Window>) {
    let Some(hub) = CAPTURE.hub() else { return };
    // SAFETY: the GVL is held, and we are not in the hook, which calls none of this code.
    let objects = unsafe { &mut *OBJECTS.0.get() };
    let now = objects.now();
    let rest = objects.sampler.close_window(now, every.map_or(objects.sampler.window(), Window::size));
    if let Some(open) = objects.open.take() {
        objects.send_sample(hub, &open, rest);
    } else if rest > 0 {
        objects.send_unsampled(hub, rest);
    }
    objects.send_sums(hub);
    objects.by_bytes = every.map_or(objects.by_bytes, |every| matches!(every, Window::Bytes(_)));
    objects.wait_for_next(now);
}

/// Sends all sums to the ring, because the tables that keep their frames alive are about to be replaced. The
/// caller holds the GVL and is outside of the hook.
pub(crate) fn send_sums() {
    let Some(hub) = CAPTURE.hub() else { return };
    // SAFETY: the GVL is held, and we are not in the hook, which calls none of this code.
    let objects = unsafe { &mut *OBJECTS.0.get() };
    if let PendingObject::Open(open) = &mut objects.open {
        open.place = None; // becomes a record of its own
    }
    objects.send_sums(hub);
}

/// Forgets, in a forked child, all counts so far: they belong to the parent.
pub(crate) fn start_over() {
    // SAFETY: the thread that forked holds the GVL, and the child has no other thread.
    let objects = unsafe { &mut *OBJECTS.0.get() };
    let now = objects.now();
    objects.sampler.close_window(now, objects.sampler.window());
    objects.open = PendingObject::None;
    if let Some(tracked) = &mut objects.tables.used {
        tracked.clear();
    }
    objects.sums.forget();
    objects.wait_for_next(now);
}

/// Calls `mark` with every handle that waits here. For the mark function.
pub(crate) fn each_handle(mut mark: impl FnMut(u64)) {
    // SAFETY: garbage is being collected, so no thread is in the hook.
    let objects = unsafe { &*OBJECTS.0.get() };
    if let PendingObject::Open(open) = objects.open {
        objects.handles.iter().take(open.frames).for_each(|handle| mark(*handle));
        open.site.class.handle().into_iter().for_each(mark);
    }
}

/// Calls `mark` with the handles of all sums. The tables keep these alive, unless they are full.
pub(crate) fn each_summed_handle(mark: impl FnMut(u64)) {
    // SAFETY: garbage is being collected, so no thread is in the hook.
    unsafe { &*OBJECTS.0.get() }.sums.each_handle(mark);
}

/// Stops the counting as the VM shuts down.
pub(crate) fn end() {
    countdown::begin(i64::MAX);
}

/// Returns whether the hook missed some of the objects that the VM has allocated since the last marking. For
/// the mark function, once in each marking.
pub(crate) fn is_silent() -> bool {
    // SAFETY: garbage is being collected, so no thread is in the hook.
    let objects = unsafe { &mut *OBJECTS.0.get() };
    if objects.hooked.is_none() {
        return false;
    }
    // SAFETY: the GVL is held, and `apply` has already made the first such call.
    let now = (objects.now(), unsafe { allocations::total_allocated() });
    let before = ::core::mem::replace(&mut objects.at_marking, now);
    let least = if objects.by_bytes { allocations::ONE_SIZE } else { 1 };
    now.1.saturating_sub(before.1).saturating_mul(least) > now.0.saturating_sub(before.0)
}

/// Returns whether the hook is called for the object that `allocate` allocates; true if no hook is installed.
/// The caller holds the GVL and is outside of the hook.
pub(crate) fn sees(allocate: impl FnOnce()) -> bool {
    // SAFETY: the caller holds the GVL and is outside of the hook. No reference is held while the object is
    // allocated.
    let count = || unsafe { (*OBJECTS.0.get()).hooked.map(|_| (*OBJECTS.0.get()).now()) };
    let before = count();
    allocate();
    before.is_none() || before != count()
}

/// Samples the object that is due.
///
/// *Runs on:* the thread that allocates the object. *GVL:* held. *Calls:* a walk, and reads of the object.
/// *Never:* allocates an object or raises.
///
/// # Safety
/// `trace_arg` is the argument that the hook was called with, on a thread of the main Ractor.
#[cold]
#[inline(never)]
unsafe fn sample_object(trace_arg: *mut ::core::ffi::c_void) {
    let Some(hub) = CAPTURE.hub() else { return };
    // SAFETY: the hook is never entered twice, as it creates no object; any other code that touches this
    // state holds the GVL.
    let objects = unsafe { &mut *OBJECTS.0.get() };
    objects.sample_count = objects.sample_count.wrapping_add(1);
    let begun_ns = (u64::from(objects.sample_count) % TIMED == 0).then(clock::monotonic_ns);
    let now = objects.now();
    let before = objects.sampler.next_sample();
    if let Some(open) = objects.open.take() {
        objects.send_sample(hub, &open, before);
    }
    // SAFETY: the caller passes the argument of the hook that is running.
    let mut open = unsafe { objects.open_sample(hub, allocations::allocated_object(trace_arg)) };
    while objects.sampler.due() <= now {
        open.known += objects.sampler.next_sample();
    }
    objects.open = PendingObject::Open(open);
    objects.wait_for_next(now);
    if let (Some(begun_ns), Some(state)) = (begun_ns, threads::current_native()) {
        let took_ns = clock::monotonic_ns().wrapping_sub(begun_ns).min(LONGEST_NS);
        state.handler.add(took_ns * TIMED);
    }
}
