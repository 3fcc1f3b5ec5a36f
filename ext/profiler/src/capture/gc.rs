//! Samples taken where a garbage collection ends, by the hooks on GC. The rules of this folder apply here as
//! well.
//!
//! * If the wall clock is measured, the hooks on GC also read the thread's CPU clock, so that GC and running
//!   each have exactly the CPU time that they used.
//! * A tick that falls into a GC is only counted. The hook at the end of the GC takes the record, with the
//!   stack that caused the GC, and this record moves the CPU clock too. Before Ruby 3.3 there are no such
//!   hooks (`vm::events::GC_HOOKS`), and a tick in a GC is a record without a stack.

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::Ordering;

use ::profiler_core::record::counters::add;
use ::profiler_core::record::{Kind, State};
use ::profiler_core::session::spec::Measures;

use crate::capture::gvl_holder;
use crate::capture::header::{attributed, header_now};
use crate::capture::{hook_loss, wait};
use crate::shared::CAPTURE;
use crate::sys::clock;
use crate::threads;
use crate::vm::events::thread_hook;
use crate::vm::{self};

/// Installs the hooks if a session needs them. The caller holds the GVL and is not inside one of them.
pub(crate) fn hook(measures: Measures) {
    if vm::events::GC_HOOKS && measures.timed() && !CAPTURE.gc_hooked.swap(true, Ordering::Relaxed) {
        // SAFETY: the GVL is held, and no session starts inside such a hook; the hooks call only what they are
        // allowed to.
        unsafe { vm::events::hook_gc(on_gc) };
    }
}

/// Removes the hooks, as no session runs any more. The caller holds the GVL and is not inside one of them.
pub(crate) fn unhook() {
    if CAPTURE.gc_hooked.swap(false, Ordering::Relaxed) {
        // SAFETY: the GVL is held, and no session stops inside such a hook.
        unsafe { vm::events::unhook(on_gc) };
    }
}

thread_hook!(on_gc, |event, _thread| {
    if vm::events::in_other_ractor() {
        // No session profiles that Ractor's threads. Ticks on ours are dropped meanwhile, and their time is
        // carried.
    } else if vm::events::begins(event) {
        begins();
    } else {
        ends();
    }
});

fn begins() {
    hook_loss::note_gc();
    if let (Some(hub), Some(state)) = (CAPTURE.hub(), threads::current_native()) {
        // Ticks that arrived while another thread collected, or just after the end of the last GC, do not
        // belong to this one.
        add(&hub.counters.dropped_in_gc, state.ticks_in_gc.number.swap(0, Ordering::Relaxed));
        if state.walls.is_on() {
            let cpu_ns = clock::thread_cpu_ns(); // before the wall clock
            state.walls.enter_gc(clock::monotonic_ns(), cpu_ns);
        }
    }
}

fn ends() {
    let (Some(hub), Some(state)) = (CAPTURE.hub(), threads::current_native()) else { return };
    let ticks = state.ticks_in_gc.number.swap(0, Ordering::Relaxed);
    let measured = state.walls.is_on();
    if ticks == 0 && !measured {
        return;
    }
    let now_ns = clock::monotonic_ns();
    let due = measured && state.walls.exit_gc(now_ns, clock::thread_cpu_ns());
    if (ticks > 0 || due) && CAPTURE.enabled.load(Ordering::Acquire) {
        // All ticks of one GC become one record.
        add(&hub.counters.overrun, ticks.saturating_sub(1));
        // SAFETY: the calling thread is the one that collects.
        let cause = unsafe { vm::gc::latest_cause() };
        let tick_ns = state.ticks_in_gc.last_ns.load(Ordering::Relaxed);
        let since_tick_ns = if ticks > 0 { now_ns.saturating_sub(tick_ns) } else { 0 };
        let kind = match state.wanted.only_blamed.load(Ordering::Relaxed) {
            true => Kind::Holder { in_gc: true, since_tick_ns },
            false => Kind::Gc { ticked: ticks > 0, since_tick_ns, cause },
        };
        let mut header = attributed(state, &header_now(state, State::Gc, now_ns));
        if let Kind::Gc { ticked: true, .. } = kind {
            // The record has the CPU time up to its last tick, like any record. If it included the time after
            // it, GC would get more than its share.
            let ticked_cpu_ns = state.ticks_in_gc.last_cpu_ns.load(Ordering::Relaxed);
            header.deferred_cpu_ns =
                state.kernel_time.deferred_ns() + header.cpu_ns.saturating_sub(ticked_cpu_ns);
        }
        if wait::record(hub, kind, &header) && ticks > 0 {
            gvl_holder::note_tick(tick_ns);
        }
        state.handler.add_span(now_ns, clock::monotonic_ns());
    }
}
