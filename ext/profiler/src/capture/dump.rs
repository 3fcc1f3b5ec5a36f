//! A thread's answer to a dump that asks where it is: a record with its stack, which no session takes.
//!
//! The signal is queued by our own process and carries the number of the dump. A thread that cannot answer
//! now is asked again.

use ::core::prelude::rust_2021::*;
use ::core::ptr::from_ref;
use ::core::sync::atomic::Ordering;
use ::core::time::Duration;

use ::profiler_core::pipeline::hub::Hub;
use ::profiler_core::record::{Kind, State};

use crate::before_3_3;
use crate::capture::header::{header_at, header_now};
use crate::capture::interrupted::{is_ours, knows_its_fiber};
use crate::capture::walk::{CopiedFrames, Scratch};
use crate::shared::CAPTURE;
use crate::sys::clock;
use crate::sys::context::{on_alternate_stack, Context};
use crate::sys::siginfo::TimerInfo;
use crate::sys::snapshot::{self, Page};
use crate::threads::{self, ThreadState};
use crate::vm;

/// The longest time that a copy of the process may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Sends the thread the signal that requests its stack. Returns false if the thread is gone, or the user may
/// have no more signals queued.
pub(crate) fn ask(state: &'static ThreadState, number: u32) -> bool {
    TimerInfo::queued(number, from_ref(state) as usize).send(state.native_id())
}

/// Answers a dump's signal; this is the handler's part for such a signal.
///
/// *Runs on:* the thread that is asked. *GVL:* held or not. *Calls:* what the rules of this folder allow.
pub(super) fn answer(hub: &Hub, info: &TimerInfo, context: &Context) {
    let Some(state) = threads::at(info.value()).filter(|it| is_ours(it)) else { return };
    state.ticker.signal.arrived();
    let begun_ns = clock::monotonic_ns();
    // With `safepoint`, a stack must not be walked at an arbitrary instant.
    let may_walk = CAPTURE.enabled.load(Ordering::Acquire) && !CAPTURE.at_safepoints.load(Ordering::Relaxed);
    if may_walk && !on_alternate_stack(context) && vm::state::on_ruby_thread() && vm::state::has_stack() {
        record(hub, state, info.overrun() as u32, None, before_3_3::found_in_call(context));
    }
    state.handler.add_span(begun_ns, clock::monotonic_ns());
}

/// Requests the stack of a thread that is blocked with the GVL. It answers where the C function is popped.
pub(crate) fn ask_blocked(state: &'static ThreadState, number: u32) {
    state.block.ask_for_dump(number);
    // SAFETY: the job was registered before the first dump, and the thread was just seen waiting.
    unsafe { CAPTURE.ask_at_block_end() };
}

/// Answers a dump, if the calling thread was asked while it was blocked.
///
/// *Runs on:* the thread that is asked, in the job. *GVL:* held. *Calls:* what the rules of this folder
/// allow.
pub(super) fn answer_block(hub: &Hub, state: &ThreadState) {
    let number = state.block.take_dump();
    if number != 0 && CAPTURE.enabled.load(Ordering::Acquire) {
        record(hub, state, number, Some(State::Blocked), false);
    }
}

/// Records the thread, unless it cannot be walked now. `known` is the thread's state, if the caller
/// knows it.
fn record(hub: &Hub, state: &ThreadState, number: u32, known: Option<State>, in_call: bool) {
    if CAPTURE.fibers_watched.load(Ordering::Relaxed) && !knows_its_fiber(state) {
        return;
    }
    // In the same order as in the handler: first the buffer, then the question about GC.
    let Some(scratch) = Scratch::take() else { return };
    let without_gvl = !vm::state::not_in_blocking_region();
    let now_ns = clock::monotonic_ns();
    if vm::state::during_gc() {
        return;
    }
    if !state.reported.load(Ordering::Relaxed) && !vm::state::has_ruby_frame() {
        return;
    }
    let measured = CAPTURE.walls.load(Ordering::Relaxed);
    let waits = if measured && state.walls.is_on() { state.walls.is_suspended() } else { in_call };
    let gvl = measured && state.walls.gvl_wait_since_ns() != 0;
    let doing = known.unwrap_or(match (gvl, waits) {
        (true, _) => State::Gvl,
        (false, true) => State::Waiting,
        (false, false) => State::Running,
    });
    let has_gvl = (doing == State::Running || doing == State::Blocked) && !without_gvl;
    let header = header_now(state, doing, now_ns);
    scratch.record(hub, Kind::Dump { number, has_gvl }, &header);
}

/// Records another thread, which is not running.
///
/// # Safety
/// The caller holds the GVL, and the thread is alive.
pub(crate) unsafe fn record_of(hub: &Hub, state: &ThreadState, number: u32, doing: State) {
    let header = header_at(state, doing, clock::monotonic_ns(), 0);
    let Some(scratch) = Scratch::take() else { return };
    if !vm::state::during_gc() {
        // SAFETY: the caller holds the GVL, the thread is alive, and no garbage is being collected.
        unsafe { scratch.record_of(hub, state.object(), Kind::Dump { number, has_gvl: false }, &header) };
    }
}

/// Records a thread that is blocked with the GVL. Its stack must not be read in this process, because the
/// thread may wake up. It is read in a copy of the process, and counts only if the thread has not run until
/// the record holds the frames. While the thread keeps the GVL, no Ruby code runs, so nothing that the frames
/// refer to is freed. Returns whether the thread was recorded.
///
/// *Runs on:* a native thread without the GVL.
pub(crate) fn record_blocked(hub: &Hub, state: &ThreadState, number: u32) -> bool {
    let asleep_at = || clock::cpu_ns_of(state.native_id()).filter(|_| clock::is_asleep(state.native_id()));
    let Some(before_ns) = asleep_at() else { return false };
    // SAFETY: zeros are valid `CopiedFrames`: no frame.
    let Ok(page) = (unsafe { Page::<CopiedFrames>::new() }) else { return false };
    let (thread, copied) = (state.object(), page.as_ptr());
    // SAFETY: a walk neither allocates nor locks. In the copy nothing changes, and if the thread ran while
    // the copy was made, the walk reads garbage or faults there, and is not used.
    if !unsafe { snapshot::run(PATIENCE, || CopiedFrames::walk(copied, thread)) } {
        return false;
    }
    let header = header_at(state, State::Blocked, clock::monotonic_ns(), 0);
    // As in the handler: first the buffer, for which the mark function waits, then the questions.
    let Some(scratch) = Scratch::take() else { return false };
    if vm::state::during_gc() || asleep_at() != Some(before_ns) {
        return false;
    }
    // SAFETY: the copy of the process, the only writer of the page, has ended; the page lives until the end
    // of this function.
    scratch.record_copied(hub, Kind::Dump { number, has_gvl: true }, &header, unsafe { &*copied })
}
