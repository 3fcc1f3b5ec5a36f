//! A tick of the [ticker](super::ticker) for one thread: whether it gets one, and the signal.
//!
//! Threads that do not run are spared: a thread that is known to block, one whose CPU clock stands still, and
//! one that the kernel says is asleep. A signal there would yield no information, and end a system call with
//! EINTR. For each thread and tick, two clocks are read from the kernel. If no hook reports waits, a thread that
//! waits is sent a tick too, but seldom (`core/sampling/estimated_wall_clock.rs`).

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicU64, Ordering};
#[cfg(feature = "testing")]
use ::std::time::Duration;

use ::profiler_core::record::counters::add;

use crate::engine::blocks;
use crate::sys::clock;
use crate::sys::siginfo::TimerInfo;
use crate::sys::system_call::may_be_interrupted;
use crate::threads::ThreadState;

/// The least CPU time in nanoseconds between two ticks of a thread, unless an eighth of the interval is more.
/// This is far more than a thread needs to be interrupted and to block again; otherwise a thread that blocks
/// with the GVL would be interrupted for ever.
const MIN_CPU_NS: u64 = 20_000;

/// Returns that time.
pub(super) fn min_cpu_ns(interval_ns: u64) -> u64 {
    MIN_CPU_NS.max(interval_ns / 8)
}

/// The number of ticks sent for sampled wall clocks.
static WALL_TICKS: AtomicU64 = AtomicU64::new(0);

/// The time in microseconds from the decision for a tick to sending it: for specs.
#[cfg(feature = "testing")]
pub(crate) static SLOW_TICKS_US: AtomicU64 = AtomicU64::new(0);

/// Returns the number of ticks sent in this process for sampled wall clocks, some of them to threads that
/// wait.
pub(crate) fn wall_ticks() -> u64 {
    WALL_TICKS.load(Ordering::Relaxed)
}

/// Forgets the ticks of the parent in a forked child.
pub(super) fn forget() {
    WALL_TICKS.store(0, Ordering::Relaxed);
}

/// Sends the thread a tick, if it is its turn in the round that began at `slot_ns`, and it has run. Unless the
/// ticker `is_engine`, only threads whose waits no hook reports get one.
pub(super) fn visit(state: &'static ThreadState, is_engine: bool, slot_ns: u64, now_ns: u64) {
    let interval_ns = state.wanted.interval_ns.load(Ordering::Relaxed);
    // A thread that is sampled less often than others is skipped now and then, as is one that must run first.
    if interval_ns == 0 || now_ns < state.ticker.next_tick_ns.load(Ordering::Relaxed) {
        return;
    }
    if state.polled.are_on() {
        state.ticker.next_tick_ns.store(slot_ns + interval_ns, Ordering::Relaxed);
        return poll(state, now_ns);
    }
    if !is_engine || waits_are_measured(state) {
        return;
    }
    let Some(cpu_ns) = clock::cpu_ns_of(state.native_id()) else { return };
    if state.ticker.visited_cpu_ns.swap(cpu_ns, Ordering::Relaxed) == cpu_ns {
        return; // has not run since the last round
    }
    if cpu_ns.wrapping_sub(state.ticker.ticked_cpu_ns.load(Ordering::Relaxed)) < min_cpu_ns(interval_ns) {
        return;
    }
    // A thread that has run and is asleep by now is caught another time: its next sample includes the time
    // that it ran.
    if clock::cpu_ns_of(state.native_id()) == Some(cpu_ns) && clock::is_asleep(state.native_id()) {
        return;
    }
    state.ticker.ticked_cpu_ns.store(cpu_ns, Ordering::Relaxed);
    state.ticker.next_tick_ns.store(slot_ns + interval_ns, Ordering::Relaxed);
    state.ticker.signal.announce();
    if waits_are_measured(state) {
        return state.ticker.signal.retract();
    }
    #[cfg(feature = "testing")]
    ::std::thread::sleep(Duration::from_micros(SLOW_TICKS_US.load(Ordering::Relaxed)));
    tick(state);
}

/// Polls a thread whose waits no hook reports. A tick that would end a call of C code is not sent: the thread
/// is asked by a job instead, which reaches it if it is blocked with the GVL.
fn poll(state: &'static ThreadState, now_ns: u64) {
    let cpu_ns = clock::cpu_ns_of(state.native_id());
    if let (true, Some(cpu_ns)) = (state.block.is_asked(), cpu_ns) {
        if state.block.used_since(cpu_ns) == 0 {
            return; // still in the same call
        }
    }
    if !state.polled.poll(now_ns, cpu_ns) {
        return;
    }
    if may_be_interrupted(state.native_id(), true) {
        add(&WALL_TICKS, 1);
        return tick(state);
    }
    state.block.used_since(cpu_ns.unwrap_or(0));
    blocks::ask(state);
}

/// Returns whether the thread waits and a tick would yield nothing new, as its waits are measured and no
/// session measures its CPU time.
pub(super) fn waits_are_measured(state: &ThreadState) -> bool {
    state.walls.is_suspended() && !state.wanted.cpu.load(Ordering::Relaxed)
}

/// Sends the signal that the timer of a thread would send: the kernel lets a process send itself such a
/// signal.
pub(crate) fn tick(state: &'static ThreadState) {
    // A thread that has ended needs none.
    let _ = TimerInfo::with(::core::ptr::from_ref(state) as usize).send(state.native_id());
}
