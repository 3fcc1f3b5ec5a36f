//! Ticks where no hook of the VM reports waits: the interrupted instruction says whether the thread waited.

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::Ordering;

use ::profiler_core::pipeline::hub::Hub;
use ::profiler_core::record::counters::count;
use ::profiler_core::record::{push_wait_extension, Header, Kind, State, WallTimes};
use ::profiler_core::sampling::estimated_wall_clock::Classification;

use crate::capture::walk::Scratch;
use crate::shared::CAPTURE;
use crate::sys::clock;
use crate::threads::ThreadState;
use crate::vm;

/// Takes the record of a tick on a thread whose wall clock is sampled: that it runs, or that it waits.
#[inline]
pub(super) fn record(hub: &Hub, state: &ThreadState, scratch: Scratch, header: &Header, in_call: bool) {
    let it = state.sampled.classify(&header.walls, in_call);
    if it.waits {
        count(&hub.counters.waits_interrupted);
    }
    close(hub, header, it.before_ns);
    let waiting = Header { state: State::Waiting, ..*header };
    let recorded = if it.waits {
        scratch.record(hub, Kind::Wait, &waiting)
    } else {
        (!it.starved || scratch.record(hub, Kind::Wait, &waiting)) && scratch.record(hub, Kind::Tick, header)
    };
    if recorded {
        state.sampled.commit(&header.walls, it, clock::thread_cpu_ns(), clock::sleeps());
    }
}

/// Takes the record of a tick on a thread that collects garbage, without the stack that is to blame.
#[inline]
pub(super) fn record_collecting(hub: &Hub, state: &ThreadState, scratch: Scratch, header: &mut Header) {
    // SAFETY: it is this thread that collects.
    let kind = Kind::Gc { ticked: true, since_tick_ns: 0, cause: unsafe { vm::gc::latest_cause() } };
    if !CAPTURE.walls.load(Ordering::Relaxed) || !state.sampled.is_on() {
        scratch.record_empty(hub, kind, header);
        return;
    }
    let it = Classification { waits: false, ..state.sampled.classify(&header.walls, false) };
    state.sampled.fold(&mut header.walls);
    close(hub, header, it.before_ns);
    if scratch.record_empty(hub, kind, header) {
        state.sampled.commit(&header.walls, it, header.cpu_ns, 0);
    }
}

/// The wait before this record is over, and lasted up to there on the waiting clock.
#[inline]
fn close(hub: &Hub, header: &Header, before_ns: Option<u64>) {
    if let Some(waiting_ns) = before_ns {
        let extension = Header { walls: WallTimes { waiting_ns, ..header.walls }, ..*header };
        // Without space in the ring the next wait has that time.
        let _ = push_wait_extension(&hub.ring, &extension);
    }
}

/// EINTR, as system calls return it.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const INTERRUPTED: u64 = (-(::libc::EINTR as i64)) as u64;

/// The least that a page can have.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const PAGE: usize = 4096;

/// Whether a signal has found the thread in a system call that waits. Such a call has ended with EINTR, or is about to
/// be made again: the thread stands just behind the instruction, or just before it.
///
/// # Signal safety
/// Reads the instructions that the thread is about to run, or has just run.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(super) fn in_call(context: &::libc::ucontext_t) -> bool {
    const SYSCALL: [u8; 2] = [0x0f, 0x05];
    let registers = &context.uc_mcontext.gregs;
    let at = registers[::libc::REG_RIP as usize] as usize;
    if at < PAGE {
        return false; // a spec that makes ticks up
    }
    // SAFETY: what is about to be executed can be read; an instruction that begins so has a second byte. What lies before
    // is read where it is in the same page.
    unsafe {
        let byte = |at: usize| *(at as *const u8);
        let again = byte(at) == SYSCALL[0] && byte(at + 1) == SYSCALL[1];
        let ended = registers[::libc::REG_RAX as usize] as u64 == INTERRUPTED && at % PAGE >= 2;
        again || ended && byte(at - 2) == SYSCALL[0] && byte(at - 1) == SYSCALL[1]
    }
}

/// The same elsewhere.
#[cfg(target_arch = "aarch64")]
#[inline]
pub(super) fn in_call(context: &::libc::ucontext_t) -> bool {
    const SYSCALL: u32 = 0xd400_0001;
    let registers = &context.uc_mcontext;
    let at = registers.pc as usize;
    if at < PAGE {
        return false; // a spec that makes ticks up
    }
    // SAFETY: what is about to be executed can be read. What lies before is read where it is in the same page.
    unsafe {
        let word = |at: usize| *(at as *const u32);
        let ended = registers.regs[0] == INTERRUPTED && at % PAGE >= 4;
        word(at) == SYSCALL || ended && word(at - 4) == SYSCALL
    }
}
