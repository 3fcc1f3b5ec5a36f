//! The end of a block: a thread has waited in C code while it held the GVL, and was asked for its stack
//! meanwhile (`engine/blocks.rs`).
//!
//! The thread answers at the first of three places: where the frame of the C function is popped, since Ruby
//! runs postponed jobs there; where it releases the GVL; or at a tick, if it computes before that. In each
//! case the C function is still on its stack.

use ::core::ffi::c_void;
use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicU64, Ordering};

use ::profiler_core::pipeline::hub::Hub;
use ::profiler_core::record::counters::count;
use ::profiler_core::record::{Kind, State};

use crate::before_3_3;
use crate::capture::dump;
use crate::capture::gvl_holder;
use crate::capture::header::header_now;
use crate::capture::interrupted::knows_its_fiber;
use crate::capture::walk::Scratch;
use crate::shared::CAPTURE;
use crate::sys::clock;
use crate::threads::{self, ThreadState};
use crate::vm;
use crate::vm::jobs::Job;

/// The length from which on a block is always found, in nanoseconds: the time between two polls of the
/// ticker.
pub(crate) static WHOLE_NS: AtomicU64 = AtomicU64::new(0);

/// The job that takes the record where the frame of the C function is popped.
pub(crate) static AT_BLOCK_END: Job = Job::new(at_block_end);

/// Answers for the calling thread, if it is the one that was asked.
///
/// *Runs on:* some Ruby thread, where Ruby checks its interrupts. *GVL:* held. *Calls:* as the handler.
/// *Never:* raises.
unsafe extern "C" fn at_block_end(_data: *mut c_void) {
    if let (Some(hub), Some(state)) = (CAPTURE.hub(), threads::current_native()) {
        dump::answer_block(hub, state);
        answer(hub, state);
        if before_3_3::NEEDED {
            // Before Ruby 3.3 a thread is asked without knowing whether it has the GVL. The calling thread
            // has it.
            for other in threads::live() {
                other.block.take();
            }
        }
    }
}

/// Records the block that the calling thread has been in, if a record was requested.
///
/// *Runs on:* the thread itself, in a job, a hook or the handler. *GVL:* held. *Calls:* what the rules of
/// this folder allow.
#[inline]
pub(super) fn answer(hub: &Hub, state: &ThreadState) {
    let measured = state.walls.is_on() || state.polled.are_on();
    if state.block.take() && CAPTURE.enabled.load(Ordering::Acquire) && measured {
        record(hub, state);
    }
}

#[cold]
fn record(hub: &Hub, state: &ThreadState) {
    if CAPTURE.fibers_watched.load(Ordering::Relaxed) && !knows_its_fiber(state) {
        return count(&hub.counters.dropped_in_switch);
    }
    let begun_ns = clock::monotonic_ns();
    // In the same order as in the handler: first the buffer, then the question about GC.
    let Some(scratch) = Scratch::take() else { return count(&hub.counters.dropped_busy) };
    if vm::state::during_gc() {
        return count(&hub.counters.dropped_in_gc);
    }
    if !vm::state::has_stack() {
        return count(&hub.counters.dropped_not_ruby);
    }
    let header = header_now(state, State::Blocked, begun_ns);
    let kind = match state.wanted.only_blamed.load(Ordering::Relaxed) {
        true => Kind::Holder { in_gc: false, since_tick_ns: 0 },
        false => Kind::Block {
            whole_us: (WHOLE_NS.load(Ordering::Relaxed) / 1_000) as u32,
            seen_us: (state.block.seen_ns(begun_ns) / 1_000).min(u64::from(u32::MAX)) as u32,
        },
    };
    if state.polled.are_on() {
        state.polled.record_block(hub, &header, |header| scratch.record(hub, kind, header));
    } else if scratch.record(hub, kind, &header) {
        gvl_holder::note_tick(begun_ns);
    }
    drop(scratch);
    state.handler.add_span(begun_ns, clock::monotonic_ns());
}
