//! The module `Profiler::Testing`, through which the specs access the inside. Compiled only with the feature
//! `testing`, which no built gem has.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use magnus::{function, prelude::*, Error, RModule};

use crate::capture::{handler, walk};
use crate::engine::{perf, tick};
use crate::shared::CAPTURE;
use crate::sys::context::Context;
use crate::sys::siginfo::TimerInfo;
use crate::sys::{clock, sigprof};
use crate::{sampler, threads};

static HAMMERING: AtomicBool = AtomicBool::new(false);

/// Takes all scratch buffers, or releases them.
fn hold_scratch(hold: bool) {
    walk::hold_all(hold);
}

/// Computes with the GVL for some milliseconds, without checking interrupts.
fn hog_gvl(milliseconds: u64) {
    let till_ns = clock::monotonic_ns() + milliseconds * 1_000_000;
    while clock::monotonic_ns() < till_ns {
        std::hint::spin_loop();
    }
}

/// Leaves a scratch buffer taken on this thread, as a jump out of the handler would.
fn leave_scratch() {
    walk::leave_one_taken();
}

/// Fills the ring until no record fits, with dummy records. Returns their number. They stay until the ring is
/// drained.
fn fill_ring() -> usize {
    let Some(hub) = CAPTURE.hub() else { return 0 };
    let fits = |_: &usize| hub.ring.try_push(1, |_| {}).is_ok();
    (0..hub.ring.capacity()).take_while(fits).count()
}

/// Freezes generations at this number of handles from now on. Returns the number of handles that are kept
/// now.
fn freeze_at(handles: usize) -> usize {
    let Some(hub) = CAPTURE.hub() else { return 0 };
    hub.freeze_at(handles);
    hub.handles()
}

/// Returns the number of objects that keep handles in place of the tables.
fn keepers() -> usize {
    sampler::keepers()
}

/// Keeps the collector thread from draining, or lets it continue.
fn hold_collector(hold: bool) {
    sampler::hold_collector(hold);
}

/// Returns the number of sessions that run natively, even if no object owns them any more.
fn sessions() -> usize {
    sampler::lock().ticks.len()
}

/// Sends every registered thread a tick each `interval_us`, whether it runs, waits or works without the GVL:
/// far more ticks, and at far worse instructions, than from any timer. 0 ends it.
fn hammer(interval_us: u64) {
    if interval_us == 0 {
        return HAMMERING.store(false, Ordering::Relaxed);
    }
    if HAMMERING.swap(true, Ordering::Relaxed) {
        return;
    }
    let body = move || {
        while HAMMERING.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_micros(interval_us));
            threads::live().for_each(tick::tick);
        }
    };
    sigprof::without_signals(|| std::thread::spawn(body));
}

/// Calls the handler `times` times in a row, here, as the timer of this thread would. Returns the median
/// nanoseconds of a call. Records are drained between the rounds and not timed.
fn handler_ns(times: usize) -> u64 {
    const ROUND: u64 = 16; // a round of the deepest stacks fits into the ring
    let (Some(hub), Some(state)) = (CAPTURE.hub(), threads::find_native()) else { return 0 };
    let mut info =
        perf::signal_of(state).unwrap_or_else(|| TimerInfo::with(::core::ptr::from_ref(state) as usize));
    // SAFETY: all fields may be zero: no alternate stack and no interrupted instruction, and no other field
    // is read.
    let mut context: Context = unsafe { std::mem::zeroed() };
    let mut rounds: Vec<u64> = (0..times as u64 / ROUND)
        .map(|_| {
            let begun = clock::monotonic_ns();
            for _ in 0..ROUND {
                // SAFETY: the arguments are as the kernel would pass them, on the thread that the signal is
                // about.
                unsafe {
                    handler::on_sigprof(libc::SIGPROF, (&raw mut info).cast(), (&raw mut context).cast());
                }
            }
            let took = clock::monotonic_ns() - begun;
            while hub.drain_batch(&threads::Registry) {}
            took / ROUND
        })
        .collect();
    rounds.sort_unstable();
    rounds.get(rounds.len() / 2).copied().unwrap_or(0)
}

/// Delays the ticker by some microseconds, from each decision for a tick to sending it.
fn slow_ticks(us: u64) {
    tick::SLOW_TICKS_US.store(us, Ordering::Relaxed);
}

/// Returns the number of ticks that arrived when they were no longer wanted.
fn late() -> u64 {
    CAPTURE.hub().map_or(0, |hub| hub.counters.read().late)
}

/// Returns the number of thread states that a pass through the live ones visits.
fn states_visited() -> usize {
    threads::in_use().count()
}

/// Reads memory that was freed, and returns a byte of it. A tool that searches for such reads must report
/// this one.
fn read_freed() -> u8 {
    let freed = Box::into_raw(Box::new([1u8; 64]));
    // SAFETY: deliberately none. The read is of memory that this process had and that causes no page fault.
    unsafe {
        drop(Box::from_raw(freed));
        std::ptr::read_volatile(freed.cast::<u8>().add(32))
    }
}

/// Defines the module.
pub(crate) fn init(profiler: RModule) -> Result<(), Error> {
    let testing = profiler.define_module("Testing")?;
    testing.define_singleton_method("hog_gvl", function!(hog_gvl, 1))?;
    testing.define_singleton_method("hold_scratch", function!(hold_scratch, 1))?;
    testing.define_singleton_method("leave_scratch", function!(leave_scratch, 0))?;
    testing.define_singleton_method("fill_ring", function!(fill_ring, 0))?;
    testing.define_singleton_method("freeze_at", function!(freeze_at, 1))?;
    testing.define_singleton_method("keepers", function!(keepers, 0))?;
    testing.define_singleton_method("hold_collector", function!(hold_collector, 1))?;
    testing.define_singleton_method("handler_ns", function!(handler_ns, 1))?;
    testing.define_singleton_method("sessions", function!(sessions, 0))?;
    testing.define_singleton_method("hammer", function!(hammer, 1))?;
    testing.define_singleton_method("states_visited", function!(states_visited, 0))?;
    testing.define_singleton_method("late", function!(late, 0))?;
    testing.define_singleton_method("slow_ticks", function!(slow_ticks, 1))?;
    testing.define_singleton_method("read_freed", function!(read_freed, 0))?;
    Ok(())
}
