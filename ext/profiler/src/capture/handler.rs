//! The SIGPROF handler: a few checks in a fixed order, and then a record or a count.

use ::core::ffi::{c_int, c_void};
use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::Ordering;

use ::profiler_core::pipeline::hub::Hub;
use ::profiler_core::record::counters::{add, count};
use ::profiler_core::record::{Kind, State};

use crate::capture::block;
use crate::capture::dump;
use crate::capture::gvl_holder;
use crate::capture::header::header_now;
use crate::capture::interrupted::{is_ours, knows_its_fiber};
use crate::capture::walk::Scratch;
use crate::engine::owner::owner_of;
use crate::engine::{perf, progress, ticker};
use crate::shared::CAPTURE;
use crate::sys::clock;
use crate::sys::context::{is_behind_system_call, on_alternate_stack, Context};
use crate::sys::errno;
use crate::sys::siginfo::{TimerInfo, FROM_QUEUE, FROM_TIMER};
use crate::threads::{self, ThreadState};
use crate::vm;
use crate::vm::jobs::Job;

/// Handles SIGPROF.
///
/// *Runs on:* the thread whose timer fired. *GVL:* held or not. *Calls:* what the rules of this folder allow.
/// *Never:* leaves errno changed.
pub(crate) unsafe extern "C" fn on_sigprof(
    _signal: c_int,
    info: *mut ::libc::siginfo_t,
    context: *mut c_void,
) {
    let _errno = Errno::save();
    let Some(hub) = CAPTURE.hub() else { return };
    // SAFETY: with SA_SIGINFO the kernel passes valid pointers to both.
    let (info, context) = unsafe { (&*info.cast::<TimerInfo>(), &*context.cast::<Context>()) };
    if info.code() == FROM_QUEUE {
        return dump::answer(hub, info, context);
    }
    // Acquire pairs with the Release of whoever turned capture on: its settings are in place.
    let enabled = CAPTURE.enabled.load(Ordering::Acquire);
    let state = match owner_of(info, enabled) {
        Ok(state) => state,
        Err(no_tick) => return no_tick.count_in(&hub.counters),
    };
    state.ticker.signal.arrived();
    // A timer that is kept for its thread's next session ticks for no session now.
    if !enabled || !is_ours(state) || state.wanted.interval_ns.load(Ordering::Relaxed) == 0 {
        return count(&hub.counters.late);
    }
    let only_blamed = state.wanted.only_blamed.load(Ordering::Relaxed);
    if only_blamed && (state.walls.is_suspended() || !threads::any_waits_for_gvl()) {
        return count(&hub.counters.late);
    }
    let begun_ns = clock::monotonic_ns();
    if info.is_from_timer() && perf::is_armed(state) {
        return in_kernel(hub, state, begun_ns, context);
    }
    state.ticks.count();
    if info.code() == FROM_TIMER && info.overrun() > 0 {
        add(&hub.counters.overrun, info.overrun() as u64);
    }
    if on_alternate_stack(context) {
        count(&hub.counters.dropped_on_altstack);
    } else if CAPTURE.at_safepoints.load(Ordering::Relaxed) && vm::state::not_in_blocking_region() {
        // SAFETY: the sampler registered the job before it turned capture on.
        unsafe { AT_SAFEPOINT.trigger() };
    } else {
        // A thread without the GVL does not change its Ruby stack, so a walk here and now is as safe as at a
        // safe point.
        let in_call = state.polled.in_call(context);
        capture(hub, state, begun_ns, Source { in_call, deferred_ns: None });
    }
    let now_ns = clock::monotonic_ns();
    let took_ns = state.handler.add_span(begun_ns, now_ns);
    // Kernels that check their timers only now and then leave enough time between two ticks.
    if CAPTURE.aimed.load(Ordering::Relaxed) {
        let interval_ns = state.wanted.interval_ns.load(Ordering::Relaxed);
        let at_random = ticker::IS_ENGINE.load(Ordering::Relaxed);
        if let Some(run_ns) = state.handler.min_run_ns(begun_ns, now_ns, took_ns, interval_ns, at_random) {
            let swallowed = progress::ensure_progress(state, run_ns);
            add(&hub.counters.overrun, u64::from(swallowed));
        }
    }
}

/// Records a tick of the timer that accompanies a thread's perf counter, if the thread has been
/// in the kernel.
fn in_kernel(hub: &Hub, state: &ThreadState, begun_ns: u64, context: &Context) {
    let interval_ns = state.timer.armed_interval_ns.load(Ordering::Relaxed);
    let in_call = is_behind_system_call(context);
    let Some(settled) = state.kernel_time.settle(clock::thread_cpu_ns(), interval_ns, in_call) else {
        return;
    };
    state.ticks.count();
    add(&hub.counters.overrun, settled.intervals.saturating_sub(1));
    if on_alternate_stack(context) {
        count(&hub.counters.dropped_on_altstack);
    } else {
        capture(hub, state, begun_ns, Source { in_call: false, deferred_ns: Some(settled.left_ns) });
    }
    state.handler.add_span(begun_ns, clock::monotonic_ns());
}

/// Facts about a tick that follow from its origin.
#[derive(Clone, Copy)]
struct Source {
    /// True if the thread is known to wait in a system call.
    in_call: bool,
    /// The CPU time, in nanoseconds, that the record leaves to a later one, if that is known.
    deferred_ns: Option<u64>,
}

/// The job that takes the record where Ruby checks its interrupts.
pub(crate) static AT_SAFEPOINT: Job = Job::new(at_safepoint);

/// Records a tick that arrived earlier.
///
/// *Runs on:* some Ruby thread, at a safe point. *GVL:* held. *Calls:* as the handler. *Never:* raises.
unsafe extern "C" fn at_safepoint(_data: *mut c_void) {
    let (Some(hub), Some(state)) = (CAPTURE.hub(), threads::find_native()) else { return };
    if CAPTURE.enabled.load(Ordering::Acquire) {
        capture(hub, state, clock::monotonic_ns(), Source { in_call: false, deferred_ns: None });
    }
}

/// Makes the last checks of the VM's state and takes the record.
#[inline]
fn capture(hub: &Hub, state: &ThreadState, monotonic_ns: u64, source: Source) {
    let in_call = source.in_call;
    if !vm::state::on_ruby_thread() || !vm::state::has_stack() {
        if in_call {
            state.polled.end_unreported(monotonic_ns);
        }
        return count(&hub.counters.dropped_not_ruby);
    }
    if CAPTURE.fibers_watched.load(Ordering::Relaxed) && !knows_its_fiber(state) {
        // Usually the hook is about to run. It does not run if an exception got in its way. Before Ruby 3.3 a
        // waiting thread must not request the job.
        if !in_call {
            // SAFETY: the sampler registered the job before it turned capture on.
            unsafe { CAPTURE.resync_labels() };
        }
        return count(&hub.counters.dropped_in_switch);
    }
    if state.block.is_asked() && !state.walls.is_suspended() {
        block::answer(hub, state); // still in the C function that was blocked
    }
    // The buffer comes before the question about GC: see `walk::wait_for_walks`.
    let scratch = Scratch::take();
    let in_gc = vm::state::during_gc();
    if in_gc && (in_call || !vm::state::not_in_blocking_region()) {
        // Another thread collects while this one works without the GVL.
        return count(&hub.counters.dropped_in_gc);
    }
    if in_gc {
        if CAPTURE.gc_hooked.load(Ordering::Relaxed) {
            // When the GC ends, its hook in `gc` takes the record, with the stack that is to blame.
            let cpu_ns = clock::thread_cpu_ns();
            state.kernel_time.restart(cpu_ns); // what GC did in the kernel is attributed to GC
            return state.ticks_in_gc.count(monotonic_ns, cpu_ns);
        }
        let Some(scratch) = scratch else { return count(&hub.counters.dropped_busy) };
        let mut header = header_now(state, State::Gc, monotonic_ns);
        // The kernel time of the GC is attributed to GC, but not the kernel time before it.
        header.deferred_cpu_ns = state.kernel_time.deferred_ns();
        state.kernel_time.restart(header.cpu_ns);
        return state
            .polled
            .record_collecting(hub, &mut header, |kind, header| scratch.record_empty(hub, kind, header));
    }
    // The buffer is held, so no object that the VM reads here is moved.
    if !state.reported.load(Ordering::Relaxed) && !vm::state::has_ruby_frame() {
        return count(&hub.counters.dropped_not_ruby);
    }
    // For the wall clock, a thread that runs without the GVL is waiting.
    let measured = CAPTURE.walls.load(Ordering::Relaxed);
    let suspended = measured && state.walls.is_suspended();
    let doing = if suspended { State::Waiting } else { State::Running };
    let Some(scratch) = scratch else { return count(&hub.counters.dropped_busy) };
    let mut header = header_now(state, doing, monotonic_ns);
    if perf::is_armed(state) {
        let interval_ns = state.timer.armed_interval_ns.load(Ordering::Relaxed);
        header.deferred_cpu_ns =
            source.deferred_ns.unwrap_or_else(|| state.kernel_time.tick(header.cpu_ns, interval_ns));
    }
    if measured && state.polled.are_on() {
        return state.polled.record(hub, &header, in_call, |kind, header| scratch.record(hub, kind, header));
    }
    let has_gvl = measured && !suspended;
    let kind = match state.wanted.only_blamed.load(Ordering::Relaxed) {
        true if !has_gvl => return,
        true => Kind::Holder { in_gc: false, since_tick_ns: 0 },
        false => Kind::Tick,
    };
    if scratch.record(hub, kind, &header) && has_gvl {
        gvl_holder::note_tick(monotonic_ns);
    }
}

/// The value of errno, restored on drop.
struct Errno(c_int);

impl Errno {
    #[inline]
    fn save() -> Self {
        Self(errno::get())
    }
}

impl Drop for Errno {
    #[inline]
    fn drop(&mut self) {
        errno::set(self.0);
    }
}
