//! The header of a record, built from the state of its thread.

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::Ordering;

use ::profiler_core::record::{Header, State, WallTimes};

use crate::shared::CAPTURE;
use crate::sys::clock;
use crate::threads::ThreadState;

/// Returns the header of a record about the calling thread, with the present reading of its CPU clock.
#[inline]
pub(crate) fn header_now(state: &ThreadState, doing: State, monotonic_ns: u64) -> Header {
    let cpu_ns = clock::thread_cpu_ns();
    state.handler.note_cpu_ns(cpu_ns);
    let header = header_at(state, doing, monotonic_ns, cpu_ns);
    if !state.walls.is_on() {
        return header;
    }
    // The kernel's counts of a wait do not belong to the thread's running time, so they are read
    // after each wait.
    state.off_cpu.settle(&header.walls, cpu_ns, doing == State::Waiting || doing == State::Blocked);
    Header { runnable_ns: state.off_cpu.runnable_ns(), ..header }
}

/// Returns the header of a record about any thread, whose CPU clock reads `cpu_ns`.
#[inline]
pub(crate) fn header_at(state: &ThreadState, doing: State, monotonic_ns: u64, cpu_ns: u64) -> Header {
    let measured = CAPTURE.walls.load(Ordering::Relaxed);
    Header {
        state: doing,
        cpu_ns,
        runnable_ns: state.off_cpu.runnable_ns(),
        start_cpu_ns: state.start_cpu_ns.load(Ordering::Relaxed),
        walls: if measured { state.walls_at(monotonic_ns, cpu_ns) } else { WallTimes::default() },
        ..state.header(monotonic_ns)
    }
}

/// Returns the header with the clocks up to which a sample of the wait or GC that has just ended is
/// attributed.
pub(crate) fn attributed(state: &ThreadState, header: &Header) -> Header {
    Header { walls: state.walls.attributed(&header.walls), ..*header }
}
