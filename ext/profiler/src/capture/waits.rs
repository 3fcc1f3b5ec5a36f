//! What is measured where it ends: waits, by the VM's hooks on the GVL, and garbage collection, by those on that.
//! The rules of the room hold here as well: most of this runs under the lock of the VM's scheduler.

use ::core::ffi::c_void;
use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicBool, Ordering};

use ::profiler_core::counters::{add, count};
use ::profiler_core::hub::Hub;
use ::profiler_core::sample::{Kind, Stamp, State};
use ::profiler_core::view::Measures;

use super::handler::stamp;
use super::walk::Scratch;
use super::{clock, CAPTURE};
use crate::threads::{self, ThreadState};
use crate::vm;
use crate::vm::events::thread_hook;
use crate::vm::gvl::{self, GvlEvent};

/// The hooks on the GVL are there.
static GVL_HOOKED: AtomicBool = AtomicBool::new(false);
/// So they are, but of the process that forked this one. Taking them away could wait for ever for a thread that
/// was inside one there.
static GVL_HOOK_INHERITED: AtomicBool = AtomicBool::new(false);

/// The hooks come that a session needs. With the GVL, and not inside one of them.
pub(crate) fn hook(measures: Measures) {
    // SAFETY: the GVL is held, and no session starts inside such a hook; they call what they may.
    unsafe {
        if vm::events::GC_HOOKS && !CAPTURE.gc_hooked.swap(true, Ordering::Relaxed) {
            vm::events::on_gc(on_gc_enter, on_gc_exit);
        }
        if measures.wall && !GVL_HOOKED.swap(true, Ordering::Relaxed) {
            gvl::on_events(on_gvl);
        }
    }
}

/// They go: no session runs any more. With the GVL, and not inside one of them.
pub(crate) fn unhook() {
    CAPTURE.walls.store(false, Ordering::Relaxed);
    // SAFETY: the GVL is held, and no session stops inside such a hook.
    unsafe {
        if CAPTURE.gc_hooked.swap(false, Ordering::Relaxed) {
            vm::events::off(on_gc_enter, on_gc_exit);
        }
        if !GVL_HOOK_INHERITED.load(Ordering::Relaxed) && GVL_HOOKED.swap(false, Ordering::Relaxed) {
            gvl::off_events();
        }
    }
}

/// In a forked child.
pub(crate) fn keep_hooks() {
    GVL_HOOK_INHERITED.store(GVL_HOOKED.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// *Runs on:* any thread; on that which it is about, but for `Ready`. *GVL:* held if `Resumed`. *Calls:* a walk.
/// *Never:* takes longer than one.
unsafe fn on_gvl(event: GvlEvent, thread: u64, tag: *mut c_void) {
    if !CAPTURE.walls.load(Ordering::Relaxed) {
        return;
    }
    let Some(state) = threads::at(tag as usize) else { return };
    if !state.is_live() || state.object() != thread || !state.walls.is_on() {
        return;
    }
    let now_ns = clock::monotonic_ns();
    match event {
        GvlEvent::Suspended => state.walls.block(now_ns),
        GvlEvent::Ready => state.walls.ready(now_ns),
        GvlEvent::Resumed => {
            let due = state.walls.go_on(now_ns);
            if let (true, true, Some(hub)) = (due, CAPTURE.enabled.load(Ordering::Acquire), CAPTURE.hub()) {
                // The stack is the one that has waited: nothing has run since.
                record(hub, state, Kind::Wait, State::Waiting, now_ns);
                state.add_handler_ns(clock::monotonic_ns().wrapping_sub(now_ns));
            }
        }
    }
}

thread_hook!(on_gc_enter, |_thread| {
    if let (Some(hub), Some(state)) = (CAPTURE.hub(), threads::here()) {
        // Those that came while another thread collected, or just after the end of the last GC, are not of this one.
        add(&hub.counters.dropped_in_gc, state.ticks_in_gc.swap(0, Ordering::Relaxed));
        if state.walls.is_on() {
            state.walls.enter_gc(clock::monotonic_ns());
        }
    }
});

thread_hook!(on_gc_exit, |_thread| {
    let (Some(hub), Some(state)) = (CAPTURE.hub(), threads::here()) else { return };
    let ticks = state.ticks_in_gc.swap(0, Ordering::Relaxed);
    let measured = state.walls.is_on();
    if ticks == 0 && !measured {
        return;
    }
    let now_ns = clock::monotonic_ns();
    let due = measured && state.walls.exit_gc(now_ns);
    if (ticks > 0 || due) && CAPTURE.enabled.load(Ordering::Acquire) {
        // All ticks of one GC are one record.
        add(&hub.counters.overrun, ticks.saturating_sub(1));
        let kind = if ticks > 0 { Kind::GcTick } else { Kind::Gc };
        record(hub, state, kind, State::Gc, now_ns);
        state.add_handler_ns(clock::monotonic_ns().wrapping_sub(now_ns));
    }
});

/// Takes a record of the thread that we are on.
fn record(hub: &Hub, state: &ThreadState, kind: Kind, doing: State, now_ns: u64) {
    // Ours is the only walk that this GC lets happen, and it is over before objects are moved again.
    match Scratch::take() {
        Some(scratch) => {
            scratch.record(hub, kind, &stamp(state, doing, now_ns));
        }
        None => count(&hub.counters.dropped_busy),
    }
}

/// Takes a record of the wait that another thread is in.
///
/// # Safety
/// The caller holds the GVL; the thread is alive, and not in a GC.
pub(crate) unsafe fn record_open(hub: &Hub, state: &ThreadState) {
    let stamp = Stamp {
        // Nothing can be said of its CPU without asking the kernel, and a wait says nothing of that.
        cpu_ns: 0,
        ..stamp(state, State::Waiting, clock::monotonic_ns())
    };
    match Scratch::take() {
        // SAFETY: as promised.
        Some(scratch) => unsafe {
            scratch.record_of(hub, state.object(), &stamp);
        },
        None => count(&hub.counters.dropped_busy),
    }
}
