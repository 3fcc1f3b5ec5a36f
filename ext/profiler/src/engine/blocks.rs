//! Polls the thread that holds the GVL: if it uses no CPU, it is blocked in C code and keeps all other
//! threads from running.
//!
//! A signal would end its system call, so such a thread is asked by a postponed job ([`Job`]). Ruby runs that
//! as the frame of the C function is popped, with the function still on top of the stack: at the very end of
//! the block, when its length is known (`capture/block.rs`).
//!
//! The ticker polls now and then, at random instants, and only while a thread holds the GVL. Polling a thread
//! that computes takes one reading of its CPU clock. A block is always found if it is longer than the longest
//! time between two polls and a quarter ([`whole_ns`]). The chance to find a shorter one is in proportion to
//! its length.
//!
//! There are two limits. A C function that raises is left without a check, so the job runs at the next check,
//! mostly in the `rescue`. And right after `Thread.new` the VM takes the new thread for the one that runs,
//! although it waits for the GVL. The question then goes to the new thread, and the thread that blocks
//! answers at its next tick.

use ::core::prelude::rust_2021::*;

use crate::engine::perf;
use crate::shared::CAPTURE;
use crate::sys::clock;
use crate::threads::gvl_holder;
use crate::threads::ThreadState;

/// Polls the thread that holds the GVL. For the ticker, without the GVL.
pub(super) fn look() {
    let Some(state) = gvl_holder::running() else { return };
    if !state.walls.is_on() || state.walls.is_collecting() {
        return;
    }
    open_run_delay(state);
    let Some(cpu_ns) = clock::cpu_ns_of(state.native_id()) else { return };
    let elapsed_ns = state.block.elapsed_since(clock::monotonic_ns());
    // If the thread has just fallen asleep, the next poll finds it.
    let computes = state.block.used_since(cpu_ns) >= elapsed_ns / 4 * 3;
    if computes || !clock::is_asleep(state.native_id()) {
        return;
    }
    // The thread may have released the GVL meanwhile, or may have woken up.
    let stands_still = clock::cpu_ns_of(state.native_id()) == Some(cpu_ns);
    if stands_still && !state.walls.is_suspended() {
        ask(state);
    }
}

/// Returns the length in nanoseconds from which on a block is always found, if the mean time between two
/// polls is `look_ns`. The longest time between two polls is a quarter more, and a quarter of that may have
/// been spent computing.
pub(crate) fn whole_ns(look_ns: u64) -> u64 {
    look_ns * 25 / 16
}

/// Asks a blocked thread for its stack, by the job. For the ticker.
pub(super) fn ask(state: &ThreadState) {
    // Asking again is free, and covers an earlier question that was lost.
    state.block.ask(clock::monotonic_ns());
    // SAFETY: the sampler registered the job before it turned capture on, and stops the ticker before the VM
    // is gone. The thread was just seen waiting.
    unsafe { CAPTURE.ask_at_block_end() };
}

/// Opens the kernel's count of the time that the thread waits for a CPU, unless descriptors are scarce.
fn open_run_delay(state: &'static ThreadState) {
    if state.off_cpu.is_open() || !perf::has_spare_descriptors() {
        return;
    }
    let id = state.id();
    state.off_cpu.open(state.native_id());
    // The thread may have ended meanwhile, and another one may have begun in its state.
    if !state.is_live() || state.id() != id {
        state.off_cpu.close();
    }
}
