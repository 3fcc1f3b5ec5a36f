//! Objects that are made: a hook that counts them, and now and then looks at one. The rules of the room hold here as
//! well, with one more freedom: nothing of ours can be interrupted by the hook, so where the ring is full it is drained
//! here.
//!
//! What is looked at is open until it is known how many objects it stands for: see [`Blocks`]. Its frames wait in a
//! buffer, which the mark function knows. Those that are alike are summed up before they are sent: see [`Sums`].
//!
//! All of this has the GVL as its guard. Hooks run on the main Ractor only.

use ::core::cell::UnsafeCell;
use ::core::ffi::c_int;
use ::core::prelude::rust_2021::*;
use ::core::ptr::{addr_of, addr_of_mut};
use ::core::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use ::profiler_core::blocks::Blocks;
use ::profiler_core::class::Class;
use ::profiler_core::hub::Hub;
use ::profiler_core::sample::Made;
use ::profiler_core::tracked::TrackedId;

use self::heap::Tables;
pub(crate) use self::heap::{alive, follows, relocate};
use self::site::{send, Site};
use self::sums::Sums;
use super::walk::WALK_LIMIT;
use super::{clock, CAPTURE};
use crate::threads;
use crate::vm;
use crate::vm::allocations::{self, made_hook};

mod heap;
mod site;
mod sums;

/// One look in so many is timed, for all of them: a clock would be a good part of what one costs.
const TIMED: u64 = 32;
/// No look takes longer: what is beyond that somebody else had the processor for.
const LONGEST_NS: u64 = 100_000;

/// How many objects from here to the next look. The one thing that the hook touches most of the time.
static LEFT: AtomicI64 = AtomicI64::new(i64::MAX);
/// The hook is there.
static HOOKED: AtomicBool = AtomicBool::new(false);

/// What only the holder of the GVL touches, and not in a signal handler.
struct Guarded(UnsafeCell<Objects>);

// SAFETY: whoever touches it has the GVL of the main Ractor, or collects garbage while nobody has.
unsafe impl Sync for Guarded {}

static OBJECTS: Guarded = Guarded(UnsafeCell::new(Objects {
    blocks: Blocks::new(0x9e37_79b9_7f4a_7c15),
    open: None,
    timed: false,
    tables: Tables::NONE,
    handles: [0; WALK_LIMIT],
    lines: [0; WALK_LIMIT],
    sums: Sums::new(),
    looks: 0,
}));

struct Objects {
    blocks: Blocks,
    open: Option<Open>,
    /// Somebody wants to know when.
    timed: bool,
    /// Those that are followed, if somebody wants to know which are alive.
    tables: Tables,
    /// The frames of what is open.
    handles: [u64; WALK_LIMIT],
    lines: [c_int; WALK_LIMIT],
    sums: Sums,
    /// Looks so far, to time some of them.
    looks: u32,
}

/// An object that was looked at, of which it is not known yet how many it stands for.
#[derive(Clone, Copy)]
struct Open {
    site: Site,
    frames: usize,
    size: u64,
    monotonic_ns: u64,
    /// Where its sum is, if there is one, and whether it is the first there.
    place: Option<(usize, bool)>,
    tracked: Option<TrackedId>,
}

/// What sessions want of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// To look at one in so many; nothing if nobody looks.
    pub(crate) every: Option<u64>,
    /// With the time of each.
    pub(crate) timed: bool,
    /// And to know of those that were looked at whether they are alive, also while nobody looks.
    pub(crate) heap: bool,
}

/// What was seen is given to who looks now, and from here on this is what is wanted. With the GVL, outside of the hook.
pub(crate) fn apply(wanted: Wanted) {
    cut(wanted.every);
    // SAFETY: the GVL is held.
    unsafe {
        (*OBJECTS.0.get()).timed = wanted.timed;
        let looked = HOOKED.swap(wanted.every.is_some(), Ordering::Relaxed);
        match (looked, wanted.every) {
            (false, Some(_)) => allocations::on_made(on_made),
            (true, None) => allocations::off_made(on_made),
            _ => {}
        }
        (*OBJECTS.0.get()).tables.follow(wanted.heap);
    }
}

/// Whether objects are looked at.
pub(crate) fn is_on() -> bool {
    HOOKED.load(Ordering::Relaxed)
}

/// All that was seen up to here goes to the ring, and the next is for who looks from here on. With the GVL, outside of
/// the hook.
pub(crate) fn settle() {
    cut(None);
}

fn cut(every: Option<u64>) {
    let Some(hub) = CAPTURE.hub() else { return };
    // SAFETY: the GVL is held, and we are not in the hook, which calls nothing of this.
    let it = unsafe { &mut *OBJECTS.0.get() };
    let now = it.now();
    let every = every.unwrap_or(it.blocks.every());
    let rest = it.blocks.cut(now, every);
    if let Some(open) = it.open.take() {
        it.give(hub, &open, rest);
    } else if rest > 0 {
        it.give_to_nobody(hub, rest);
    }
    it.sums.flush(|site, frames, made| send(hub, site, frames, made, 0));
    it.wait_for_next(now);
}

/// In a forked child: what was seen is the parent's.
pub(crate) fn start_over() {
    // SAFETY: the thread that forked has the GVL, and there is no other.
    let it = unsafe { &mut *OBJECTS.0.get() };
    let now = it.now();
    it.blocks.cut(now, it.blocks.every());
    it.open = None;
    if let Some(tracked) = &mut it.tables.used {
        tracked.clear();
    }
    it.sums.forget();
    it.wait_for_next(now);
}

/// Shows every handle that waits here. For the mark function.
pub(crate) fn each_handle(mut mark: impl FnMut(u64)) {
    // SAFETY: garbage is being collected, so nobody is in the hook.
    let it = unsafe { &*OBJECTS.0.get() };
    if let Some(open) = it.open {
        it.handles.iter().take(open.frames).for_each(|handle| mark(*handle));
        open.site.class.handle().into_iter().for_each(mark);
    }
}

/// Counts no more: the VM goes.
pub(crate) fn end() {
    LEFT.store(i64::MAX, Ordering::Relaxed);
}

made_hook!(on_made, |what| {
    let left = LEFT.load(Ordering::Relaxed) - 1;
    LEFT.store(left, Ordering::Relaxed);
    if left <= 0 {
        // SAFETY: the VM calls us with this.
        unsafe { look(what) };
    }
});

/// Looks at the object that was due.
///
/// *Runs on:* the thread that makes the object. *GVL:* held. *Calls:* a walk, and reads of the object. *Never:* makes an
/// object or raises.
///
/// # Safety
/// `what` is what the hook was called with.
#[cold]
#[inline(never)]
unsafe fn look(what: *mut ::core::ffi::c_void) {
    let Some(hub) = CAPTURE.hub() else { return };
    // SAFETY: the hook is not entered twice, as it makes no object; who else touches this has the GVL.
    let it = unsafe { &mut *OBJECTS.0.get() };
    it.looks = it.looks.wrapping_add(1);
    let begun_ns = (u64::from(it.looks) % TIMED == 0).then(clock::monotonic_ns);
    let now = it.blocks.due();
    let before = it.blocks.look();
    if let Some(open) = it.open.take() {
        it.give(hub, &open, before);
    }
    // SAFETY: as promised.
    it.open = Some(unsafe { it.opened(hub, allocations::made(what)) });
    it.wait_for_next(now);
    if let (Some(begun_ns), Some(state)) = (begun_ns, threads::here()) {
        let took_ns = clock::monotonic_ns().wrapping_sub(begun_ns).min(LONGEST_NS);
        state.add_handler_ns(took_ns * TIMED);
    }
}

impl Objects {
    /// So many objects were counted.
    fn now(&self) -> u64 {
        self.blocks.due().saturating_sub(LEFT.load(Ordering::Relaxed).max(0) as u64)
    }

    fn wait_for_next(&self, now: u64) {
        LEFT.store((self.blocks.due() - now) as i64, Ordering::Relaxed);
    }

    /// # Safety
    /// It is the object of a hook that runs.
    #[inline]
    unsafe fn opened(&mut self, hub: &Hub, object: u64) -> Open {
        // SAFETY: no garbage is being collected where objects are made; the buffers are ours.
        let frames = unsafe {
            vm::frames::walk(addr_of_mut!(self.handles).cast(), addr_of_mut!(self.lines).cast(), WALK_LIMIT)
        };
        // SAFETY: as promised.
        let (class, size) = unsafe { (allocations::class_of_made(object), allocations::slot_size(object)) };
        let site = Site::here(class);
        let tracked = self.tables.used.as_mut().and_then(|it| it.insert(object, allocations::collections()));
        let place = if self.timed || tracked.is_some() {
            None
        } else {
            let (handles, lines) = (&self.handles, &self.lines);
            self.sums.place(&site, handles.get(..frames), lines.get(..frames), |site, frames, made| {
                send(hub, site, frames, made, 0);
            })
        };
        let monotonic_ns = if self.timed { clock::monotonic_ns() } else { 0 };
        Open { site, frames, size, monotonic_ns, place, tracked }
    }

    /// What was open stands for so many objects.
    #[inline]
    fn give(&mut self, hub: &Hub, open: &Open, objects: u64) {
        let made = Made {
            class: open.site.class,
            looks: 1,
            objects,
            bytes: objects.saturating_mul(open.size),
            tracked: open.tracked,
        };
        if let (Some(tracked), Some(id)) = (&mut self.tables.used, open.tracked) {
            tracked.weigh(id, objects, made.bytes);
        }
        if let Some((place, false)) = open.place {
            return self.sums.add(place, &made);
        }
        // SAFETY: the walk wrote the first `frames` of both, which stay ours.
        let (handles, lines) = unsafe {
            (
                ::core::slice::from_raw_parts(addr_of!(self.handles).cast(), open.frames),
                ::core::slice::from_raw_parts(addr_of!(self.lines).cast(), open.frames),
            )
        };
        send(hub, &open.site, (handles, lines), &made, open.monotonic_ns);
    }

    /// Nobody looked at any of so many.
    fn give_to_nobody(&self, hub: &Hub, objects: u64) {
        let site = Site::here(Class::internal(0));
        let made = Made { class: site.class, looks: 0, objects, bytes: 0, tracked: None };
        send(hub, &site, (&[], &[]), &made, clock::monotonic_ns());
    }
}
