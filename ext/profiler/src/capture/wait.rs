//! Samples taken where a wait ends, by the VM's hooks on the GVL. The rules of this folder apply here as well:
//! most of this code runs under the lock of the VM's scheduler.
//!
//! * A wait that contains a threshold is captured where it ends, in the hook, on the thread that waited. No
//!   Ruby code has run since, so the stack is that of the wait.
//! * A thread's release of the GVL is provisional. Only READY or RESUMED makes it a wait.
//! * The hook on READY runs on the thread that wakes the other one. So the state is attached to the Thread
//!   itself, as a tag. A thread that is not in the registry yet is tagged with the current time instead, at
//!   which its life begins.
//! * RESUMED costs one clock reading, a few additions, and at times a walk or a record.
//! * `stop` and `snapshot` record open waits with `rb_profile_thread_frames`, with the GVL held.
//! * In a forked child the hook on the GVL stays installed for good: the VM's list of hooks may be locked by
//!   a thread that the child does not have.

use ::core::ffi::c_void;
use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicBool, Ordering};

use ::profiler_core::pipeline::hub::Hub;
use ::profiler_core::record::counters::count;
use ::profiler_core::record::{Header, Kind, State};
use ::profiler_core::sampling::wall_clock::Due;
use ::profiler_core::session::spec::Measures;

use crate::before_3_3;
use crate::capture::block;
use crate::capture::gvl_holder;
use crate::capture::header::{attributed, header_at, header_now};
use crate::capture::walk::Scratch;
use crate::engine::{alarm, ticker};
use crate::shared::CAPTURE;
use crate::sys::clock;
use crate::threads::gvl_holder::Holder;
use crate::threads::{self, ThreadState};
use crate::vm::gvl::{self, GvlEvent};

/// True if the hooks on the GVL are installed.
static GVL_HOOKED: AtomicBool = AtomicBool::new(false);
/// True if they were inherited from the process that forked this one. Removing them could wait for ever for a
/// thread that was inside one of them there.
static GVL_HOOK_INHERITED: AtomicBool = AtomicBool::new(false);

/// Installs the hooks that a session needs. The caller holds the GVL and is not inside one of them.
pub(crate) fn hook(measures: Measures) {
    if measures.wall && !GVL_HOOKED.swap(true, Ordering::Relaxed) {
        // SAFETY: the GVL is held, and no session starts inside such a hook; the hook calls only what it is
        // allowed to.
        unsafe { gvl::hook_events(on_gvl) };
    }
}

/// Removes the hooks, as no session runs any more. The caller holds the GVL and is not inside one of them.
pub(crate) fn unhook() {
    CAPTURE.walls.store(false, Ordering::Relaxed);
    if !GVL_HOOK_INHERITED.load(Ordering::Relaxed) && GVL_HOOKED.swap(false, Ordering::Relaxed) {
        // SAFETY: the GVL is held, and no session stops inside such a hook.
        unsafe { gvl::unhook_events() };
    }
}

/// Notes, in a forked child, that the installed hooks are the parent's.
pub(crate) fn inherit_hooks() {
    GVL_HOOK_INHERITED.store(GVL_HOOKED.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// Handles an event of the GVL.
///
/// *Runs on:* any thread; on the thread that the event is about, except for `Ready`. *GVL:* held if
/// `Resumed`. *Calls:* a walk; the alarm's system call; if `Suspended`, spins for at most 50 us until a
/// signal of the ticker has arrived. *Never:* takes longer than these.
unsafe fn on_gvl(event: GvlEvent, thread: u64, tag: *mut c_void) {
    let known = threads::at(tag as usize).filter(|it| it.is_live() && it.object() == thread);
    if event == GvlEvent::Exited {
        threads::recent_exits::note(thread);
        known.into_iter().for_each(threads::end_current);
        return;
    }
    if !CAPTURE.walls.load(Ordering::Relaxed) {
        return;
    }
    let Some(state) = known else {
        // SAFETY: the VM reports the event of a live thread.
        return unsafe { on_unregistered(event, thread, tag) };
    };
    let before = match event {
        GvlEvent::Resumed => threads::gvl_holder::set(state),
        GvlEvent::Suspended | GvlEvent::Ready | GvlEvent::Exited => None,
    };
    if !state.walls.is_on() {
        return;
    }
    let now_ns = clock::monotonic_ns();
    match event {
        GvlEvent::Suspended => {
            if let (true, Some(hub)) = (state.block.is_asked(), CAPTURE.hub()) {
                block::answer(hub, state);
            }
            state.walls.suspend(now_ns);
            alarm::thread_waits();
            state.ticker.signal.let_arrive(now_ns);
        }
        GvlEvent::Ready => {
            state.walls.ready(now_ns);
            ticker::wake_if_idle(); // so that the holder of the GVL ticks
        }
        GvlEvent::Resumed => {
            let due = state.walls.resume(now_ns, gvl_holder::last_tick_ns());
            alarm::thread_runs(now_ns);
            ticker::wake_if_idle();
            // No Ruby code has run since, so the stack is that of the wait.
            record_wait(state, due, before, now_ns);
        }
        GvlEvent::Exited => {}
    }
}

/// Handles an event of a thread that is not in the registry. The time at which it first becomes ready is kept
/// until it registers itself, as it has been waiting for the GVL since then.
///
/// # Safety
/// `thread` is a live Thread.
unsafe fn on_unregistered(event: GvlEvent, thread: u64, tag: *mut c_void) {
    match event {
        GvlEvent::Ready if !FirstReady::is(tag) && tag != OWN => {
            // SAFETY: `thread` is a live Thread, and such a tag is never dereferenced.
            unsafe { gvl::tag(thread, FirstReady::now().as_tag()) };
        }
        // A thread that is about to register itself notes itself as the holder then. The profiler's own
        // threads never do.
        GvlEvent::Resumed if !FirstReady::is(tag) => threads::gvl_holder::clear(),
        _ => {}
    }
}

/// The tag of the profiler's own threads, which have no state. It is even, and no valid address. No wait is
/// blamed on these threads.
const OWN: *mut c_void = 2 as *mut c_void;

/// Tags one of the profiler's own threads.
///
/// # Safety
/// The caller holds the GVL, and `thread` is a live Thread.
pub(crate) unsafe fn tag_own(thread: u64) {
    // SAFETY: the caller holds the GVL, `thread` is a live Thread, and such a tag is never dereferenced.
    unsafe { gvl::tag(thread, OWN) };
    threads::gvl_holder::clear();
}

/// The time at which a thread first became ready. As a tag it is odd, which no address is.
struct FirstReady(u64);

impl FirstReady {
    fn now() -> Self {
        Self(clock::monotonic_ns())
    }

    fn is(tag: *mut c_void) -> bool {
        tag as usize & 1 == 1
    }

    fn as_tag(&self) -> *mut c_void {
        (self.0 << 1 | 1) as *mut c_void
    }

    fn of(tag: *mut c_void) -> Option<Self> {
        Self::is(tag).then_some(Self(tag as u64 >> 1))
    }
}

/// Starts the measurements of the calling thread, which begins and has just registered itself. Its wall clock
/// is measured if `interval_ns` is not 0, from the time at which the thread became ready if that is known.
///
/// # Safety
/// The caller holds the GVL, which no other thread has had since the thread got it.
pub(crate) unsafe fn begin(state: &'static ThreadState, interval_ns: u64) {
    let measured = CAPTURE.walls.load(Ordering::Relaxed);
    if before_3_3::NEEDED {
        if measured && interval_ns > 0 {
            state.walls_on(interval_ns, true);
        }
        return;
    }
    // SAFETY: the state is that of the running thread, so its Thread is alive.
    let tag = unsafe { gvl::tag_of(state.object()) };
    tag_thread(state); // even if nothing is measured now, as that may begin during the thread's life
    if !measured {
        return;
    }
    let before = threads::gvl_holder::set(state);
    if interval_ns > 0 {
        let now_ns = clock::monotonic_ns();
        let start_ns = FirstReady::of(tag).map_or(now_ns, |it| it.0.min(now_ns));
        let tick_ns = gvl_holder::last_tick_ns();
        let due = state.walls.turn_on_at_start(start_ns, now_ns, interval_ns, tick_ns);
        alarm::thread_runs(now_ns);
        ticker::wake_if_idle();
        record_wait(state, due, before, now_ns);
    }
}

/// Tags the Thread, so that hooks on the GVL find its state from now on.
pub(crate) fn tag_thread(state: &'static ThreadState) {
    let tag = ::core::ptr::from_ref(state).cast_mut().cast();
    // SAFETY: the GVL is held; the Thread of a live state is alive; states are never freed.
    unsafe { gvl::tag(state.object(), tag) };
}

/// Pushes the records that are due for the wait that has just ended on the calling thread. `before` had the
/// GVL before it.
fn record_wait(state: &ThreadState, due: Due, before: Option<Holder>, now_ns: u64) {
    let (true, Some(hub)) = (CAPTURE.enabled.load(Ordering::Acquire), CAPTURE.hub()) else { return };
    let only_blamed = state.wanted.only_blamed.load(Ordering::Relaxed);
    if only_blamed || !(due.waiting || due.gvl || due.ticked) {
        return;
    }
    if due.waiting || due.gvl {
        record(hub, Kind::Wait, &attributed(state, &header_now(state, State::Waiting, now_ns)));
    }
    gvl_holder::record_blame(hub, state, due, before, now_ns);
    state.handler.add_span(now_ns, clock::monotonic_ns());
}

/// Records the stack of the calling thread, where a wait or a GC has just ended. Otherwise counts the reason and
/// returns false.
pub(super) fn record(hub: &Hub, kind: Kind, header: &Header) -> bool {
    // After a GC, this is the only walk that its end allows, and it is over before objects are moved again.
    let Some(scratch) = Scratch::take() else {
        count(&hub.counters.dropped_busy);
        return false;
    };
    scratch.record(hub, kind, header)
}

/// Records the wait that another thread is in.
///
/// # Safety
/// The caller holds the GVL; the thread is alive, and not in a GC.
pub(crate) unsafe fn record_open(hub: &Hub, state: &ThreadState) {
    // Only the kernel knows the thread's CPU time, and a record of a wait needs none.
    let header = header_at(state, State::Waiting, clock::monotonic_ns(), 0);
    match Scratch::take() {
        // SAFETY: the caller holds the GVL, and the thread is alive and not in a GC.
        Some(scratch) => unsafe { scratch.record_of(hub, state.object(), Kind::Wait, &header) },
        None => count(&hub.counters.dropped_busy),
    }
    let ready_ns = state.walls.gvl_wait_since_ns();
    if ready_ns != 0 {
        gvl_holder::record_gvl_wait(hub, state, ready_ns, header.monotonic_ns);
    }
}
