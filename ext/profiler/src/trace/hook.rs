//! The hook of a trace.

use std::ffi::c_void;
use std::sync::atomic::Ordering;

use profiler_core::record::WallTimes;
use profiler_core::trace::{End, FunctionKey, OpenCall};

use super::tracer::{Ended, TraceSums, Tracer};
use crate::shared::CAPTURE;
use crate::sys::clock;
use crate::threads;
use crate::vm::tracepoints::{self, MethodEvent};
use crate::vm::{frames, modules, process, state};

/// The number of events between two checks of the overhead.
pub(super) const CHECK_EVERY: u64 = 256;
/// The number of events of which one is measured, as a clock is a good part of what the hook costs.
const MEASURE_EVERY: u64 = 16;
/// The longest time of the hook that counts, ns. If it takes longer, its thread lost the CPU in between.
pub(super) const LONGEST_NS: u64 = 10_000;

/// Adds an event to the sums of the trace.
///
/// *Runs on:* the thread that calls the method; for `Raise` and `Other`, any thread. *GVL:* held. *Calls:* a
/// walk of two frames. *Never:* allocates, but for the object of a thread's first fiber; raises; calls a
/// method.
///
/// # Safety
/// `tracer` is the address of a [`Tracer`].
pub(super) unsafe fn call(tracer: *const c_void, event: MethodEvent, tracepoint: u64) {
    if !process::on_main_ractor() {
        return;
    }
    // SAFETY: the caller passes a tracer, which is never freed.
    let tracer = unsafe { &*tracer.cast::<Tracer>() };
    let goes_on = if event == MethodEvent::Other {
        // With `inside`, its hook sees these calls, too.
        let other =
            |sums: &mut TraceSums| if sums.inside.is_some() { sums.ended_ns == 0 } else { pass(sums) };
        // SAFETY: the GVL is held, and `pass` calls nothing that releases it or allocates.
        unsafe { tracer.with(other) }
    } else {
        let now_ns = clock::monotonic_ns();
        // This may allocate an object, so it comes before the sums are used.
        let fiber = state::current_fiber();
        // SAFETY: the GVL is held, and `add` calls nothing that releases it or allocates.
        unsafe { tracer.with(|sums| add(sums, event, (fiber, tracepoint), now_ns)) }
    };
    if goes_on != Some(true) {
        // SAFETY: the GVL is held, and the TracePoint is that of this hook, so it is live.
        unsafe { tracepoints::disable(tracepoint) };
    }
}

/// Returns false if the trace is over.
fn add(sums: &mut TraceSums, event: MethodEvent, (fiber, tracepoint): (u64, u64), now_ns: u64) -> bool {
    if sums.ended_ns != 0 {
        return false;
    }
    if sums.began_ns == 0 {
        return true;
    }
    match event {
        MethodEvent::Call => enter(sums, fiber, tracepoint, now_ns),
        MethodEvent::Return(object) => leave(sums, fiber, now_ns, object),
        MethodEvent::Raise(exception) => {
            if let Some(call) = sums.open.newest(fiber) {
                // SAFETY: the GVL is held, and an exception that is being raised is live.
                call.raised = unsafe { modules::class_of(exception) };
            }
        }
        MethodEvent::Rescue => {
            if let Some(call) = sums.open.newest(fiber) {
                call.raised = 0;
            }
        }
        MethodEvent::Other => {}
    }
    sums.events = sums.events.wrapping_add(1);
    if sums.events % MEASURE_EVERY == 0 {
        let took_ns = clock::monotonic_ns().saturating_sub(now_ns);
        sums.took(MEASURE_EVERY * took_ns.min(LONGEST_NS));
    }
    if sums.events % CHECK_EVERY == 0 && sums.exceeds_overhead() {
        sums.ended = Some(Ended::Overhead);
    }
    if sums.ended.is_some() {
        finish(sums, now_ns);
    }
    sums.ended.is_none()
}

/// Counts a call or return of code that is not traced. Returns false if the trace is over.
pub(super) fn pass(sums: &mut TraceSums) -> bool {
    if sums.ended_ns != 0 {
        return false;
    }
    if sums.began_ns == 0 {
        return true;
    }
    sums.others += 1;
    if sums.others % CHECK_EVERY == 0 {
        sums.took(CHECK_EVERY * sums.other_ns);
        end_if_too_much(sums);
    }
    sums.ended_ns == 0
}

/// Ends the trace if it takes too much.
pub(super) fn end_if_too_much(sums: &mut TraceSums) {
    if sums.exceeds_overhead() {
        sums.ended = Some(Ended::Overhead);
        finish(sums, clock::monotonic_ns());
    }
}

fn finish(sums: &mut TraceSums, now_ns: u64) {
    sums.ended_ns = now_ns;
    for tracepoint in [sums.on_raise, sums.on_calls] {
        if tracepoint != 0 {
            // SAFETY: the GVL is held, and the sums exist, so their owner keeps the TracePoint alive.
            unsafe { tracepoints::disable(tracepoint) };
        }
    }
}

/// Lets the newest call of a fiber begin now: what came before was the log's. The GVL is held.
pub(crate) fn restart(sums: &mut TraceSums, fiber: u64) {
    if let Some(call) = sums.open.newest(fiber) {
        call.began_ns = clock::monotonic_ns();
        call.walls = walls(call.began_ns);
    }
}

/// Ends the logging of a call: adds the CPU time that it took, and ends the trace if it takes too much, or if
/// that was the last call to log. Returns false if the trace is over. The GVL is held.
pub(crate) fn logged(sums: &mut TraceSums, fiber: u64, took_ns: u64, is_last: bool) -> bool {
    sums.took(took_ns);
    if let Some(finished) = &mut sums.finished {
        finished.log(fiber);
    }
    if sums.ended_ns == 0 {
        if is_last {
            sums.ended = Some(Ended::Calls);
        } else if sums.exceeds_overhead() {
            sums.ended = Some(Ended::Overhead);
        }
        if sums.ended.is_some() {
            finish(sums, clock::monotonic_ns());
        }
    }
    sums.ended_ns == 0
}

fn enter(sums: &mut TraceSums, fiber: u64, tracepoint: u64, now_ns: u64) {
    sums.calls += 1;
    if let Some(inside) = &mut sums.inside {
        if let Some(stack) = inside.of(fiber) {
            inside.advance(stack, now_ns);
        }
        // SAFETY: this is the hook of that TracePoint.
        let (owner, name) = unsafe { tracepoints::method(tracepoint) };
        let is_c_function = sums.is_c_function;
        inside.enter_traced(
            fiber,
            FunctionKey { owner, name },
            || if is_c_function { 0 } else { top_frame() },
        );
    }
    if let Some(finished) = &mut sums.finished {
        finished.take(fiber);
    }
    // The event of a C function comes before its frame.
    let caller = caller(usize::from(!sums.is_c_function));
    // The clock is read last, so that the time of this hook is not the method's.
    let began_ns = clock::monotonic_ns();
    let call = OpenCall { fiber, began_ns, walls: walls(began_ns), caller, raised: 0 };
    if !sums.open.enter(call) {
        sums.ended = Some(Ended::Depth);
    }
    if let Some(inside) = &mut sums.inside {
        if let Some(stack) = inside.of(fiber) {
            inside.resume(stack, began_ns);
        }
    }
}

fn leave(sums: &mut TraceSums, fiber: u64, now_ns: u64, object: u64) {
    if ends_again(sums, fiber) {
        return;
    }
    let Some(call) = sums.open.leave(fiber) else {
        sums.tally.began_before += 1;
        return;
    };
    let end = end_of(sums, &call, object);
    let mut walls = walls(now_ns);
    let hooks_ns = leave_inside(sums, fiber, &call, now_ns);
    walls.running_ns = walls.running_ns.saturating_sub(hooks_ns);
    let now_ns = now_ns - hooks_ns;
    sums.tally.add(&call, now_ns, &walls, end);
    if let Some(finished) = &mut sums.finished {
        finished.add(&call, now_ns, &walls, end);
    }
    if let End::Raised(class) = end {
        // The exception propagates through the caller, if that is a call of the same method.
        if let Some(outer) = sums.open.newest(fiber) {
            outer.raised = class;
        }
    }
    if sums.tally.durations.count() >= sums.limits.calls {
        sums.ended = Some(Ended::Calls);
    }
}

/// Ends a call in what runs inside, if that is counted. Returns the time that its hooks have taken in the call, ns.
fn leave_inside(sums: &mut TraceSums, fiber: u64, call: &OpenCall, now_ns: u64) -> u64 {
    let Some(inside) = &mut sums.inside else { return 0 };
    if let Some(stack) = inside.of(fiber) {
        inside.advance(stack, now_ns);
    }
    let took_ns = inside.leave_traced(fiber);
    if let Some(stack) = inside.of(fiber) {
        inside.resume(stack, clock::monotonic_ns());
    }
    let all_ns = now_ns.saturating_sub(call.began_ns);
    took_ns.map_or(0, |ns| all_ns.saturating_sub(ns))
}

/// Returns whether the VM has reported this end before. If another thread's exception interrupts the log's
/// hook at the end of a call, the VM reports that end again. If the call was already logged, the repetition
/// can be recognized only if no outer traced call is open on the fiber.
fn ends_again(sums: &mut TraceSums, fiber: u64) -> bool {
    let Some(call) = sums.finished.as_mut().and_then(|finished| finished.take(fiber)) else {
        return false;
    };
    !call.is_logged || sums.open.newest(fiber).is_none()
}

/// Returns how a call ended. The VM reports nil both for a call that raised and for one that returned nil.
/// Only the latter ends at the line of a `return` or `end`. In a method of one line, an exception that was
/// raised and not rescued decides.
fn end_of(sums: &TraceSums, call: &OpenCall, object: u64) -> End {
    if sums.is_c_function && call.raised == 0 {
        // SAFETY: the GVL is held, and an object that is being returned is live.
        return End::Returned(unsafe { modules::class_of(object) });
    }
    // SAFETY: the GVL is held, and the method's own frame is still there.
    let returns_here = || sums.return_lines.contains(&unsafe { tracepoints::current_line() });
    if tracepoints::is_nil(object) && (!returns_here() || (sums.has_one_line && call.raised != 0)) {
        return End::Raised(call.raised);
    }
    // SAFETY: the GVL is held, and an object that is being returned is live.
    End::Returned(unsafe { modules::class_of(object) })
}

/// Returns the wall clocks of the running thread, which are all 0 if they are not measured.
fn walls(now_ns: u64) -> WallTimes {
    if !CAPTURE.walls.load(Ordering::Relaxed) {
        return WallTimes::default();
    }
    match threads::current_native_cached() {
        Some(state) if state.walls.is_on() => state.walls.read(now_ns),
        _ => WallTimes::default(),
    }
}

/// Returns the handle and the line of the frame at this place, counted from the uppermost: 0 or 1.
fn caller(place: usize) -> (u64, u32) {
    let (mut handles, mut lines) = ([0; 2], [0; 2]);
    // SAFETY: both buffers have that size; the thread runs Ruby, and no garbage is being collected, as this
    // thread holds the GVL and does not allocate.
    let count = unsafe { frames::walk(handles.as_mut_ptr(), lines.as_mut_ptr(), 2) };
    match (handles.get(place), lines.get(place)) {
        (Some(handle), Some(line)) if count > place as _ => (*handle, u32::try_from(*line).unwrap_or(0)),
        _ => (0, 0),
    }
}

/// Returns the handle of the uppermost frame; 0 if there is none.
pub(super) fn top_frame() -> u64 {
    let (mut handle, mut line) = (0, 0);
    // SAFETY: both are buffers for one frame; the thread runs Ruby, and no garbage is being collected, as this
    // thread holds the GVL and does not allocate.
    unsafe { frames::walk(&mut handle, &mut line, 1) };
    handle
}
