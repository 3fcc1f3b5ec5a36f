//! The hook on all calls of the process, which counts what runs inside of the traced calls.
//!
//! Outside of these it only counts its events. What one takes was measured as the trace began.

use std::ffi::c_void;

use profiler_core::trace::{Activation, FunctionKey};

use super::hook::{end_if_too_much, pass, top_frame, CHECK_EVERY, LONGEST_NS};
use super::tracer::{TraceSums, Tracer};
use crate::sys::clock;
use crate::vm::tracepoints::{self, CallEvent, Callee};
use crate::vm::{process, state};

/// Adds a call or return of any code to what runs inside of the traced call of its fiber, if there is one.
///
/// *Runs on:* any Ruby thread. *GVL:* held. *Calls:* a walk of one frame, for a function that is new. *Never:*
/// allocates, but for the object of a thread's first fiber; raises; calls a method.
///
/// # Safety
/// `tracer` is the address of a [`Tracer`].
pub(super) unsafe fn call(tracer: *const c_void, event: CallEvent, tracepoint: u64) {
    if !process::on_main_ractor() {
        return;
    }
    // SAFETY: the caller passes a tracer, which is never freed.
    let tracer = unsafe { &*tracer.cast::<Tracer>() };
    // SAFETY: the GVL is held, and nothing is called.
    let is_idle = unsafe { tracer.with(|sums| sums.inside.as_ref().is_none_or(|inside| inside.is_idle())) };
    let goes_on = if is_idle == Some(false) {
        let now_ns = clock::monotonic_ns();
        // This may allocate an object, so it comes before the sums are used.
        let fiber = state::current_fiber();
        // SAFETY: the GVL is held, and `add` calls nothing that releases it or allocates.
        unsafe { tracer.with(|sums| add(sums, event, fiber, now_ns)) }
    } else {
        // SAFETY: the GVL is held, and `pass` calls nothing that releases it or allocates.
        unsafe { tracer.with(pass) }
    };
    if goes_on != Some(true) {
        // SAFETY: the GVL is held, and the TracePoint is that of this hook, so it is live.
        unsafe { tracepoints::disable(tracepoint) };
    }
}

/// Returns false if the trace is over.
fn add(sums: &mut TraceSums, event: CallEvent, fiber: u64, now_ns: u64) -> bool {
    let Some(inside) = sums.inside.as_mut().filter(|_| sums.ended_ns == 0) else { return false };
    let Some(stack) = inside.of(fiber) else { return pass(sums) };
    inside.advance(stack, now_ns);
    let activation = if event.callee == Callee::Block { Activation::Block } else { Activation::Call };
    // SAFETY: the hook that has this event is running.
    let key = unsafe { key(&event) };
    if event.is_call {
        let handle = || if event.callee == Callee::Function { 0 } else { top_frame() };
        inside.enter(stack, key, activation, handle);
    } else {
        inside.leave(stack, key, activation);
    }
    let ended_ns = clock::monotonic_ns();
    inside.resume(stack, ended_ns);
    sums.inner_events += 1;
    sums.took(ended_ns.saturating_sub(now_ns).min(LONGEST_NS));
    if sums.inner_events % CHECK_EVERY == 0 {
        sums.took(CHECK_EVERY * sums.other_ns);
        end_if_too_much(sums);
    }
    sums.ended_ns == 0
}

/// Returns the key of the method of an event. Code outside of methods has its frame instead.
///
/// # Safety
/// The hook that has this event is running.
unsafe fn key(event: &CallEvent) -> FunctionKey {
    // SAFETY: the hook that has this event is running.
    match unsafe { event.method() } {
        (0, _) => FunctionKey { owner: 0, name: top_frame() },
        (owner, name) => FunctionKey { owner, name },
    }
}
