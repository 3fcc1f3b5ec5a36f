//! A thread's perf counter, and which thread may work on it.

use std::sync::atomic::{
    AtomicI32, AtomicU8,
    Ordering::{Acquire, Relaxed, Release},
};

use crate::sys::native_thread;

/// The phase in which no thread works on the counter.
const IDLE: u8 = 0;
/// The phase in which the collector works on it.
const UPGRADING: u8 = 1;
/// The phase after which the thread gets no counter any more.
const CLOSED: u8 = 2;

/// The perf counter of one thread, guarded by a phase.
#[derive(Debug)]
pub(crate) struct PerfCounter {
    /// The descriptor plus one; 0 if there is none.
    pub(crate) fd: AtomicI32,
    phase: AtomicU8,
}

impl PerfCounter {
    pub(super) const fn new() -> Self {
        Self { fd: AtomicI32::new(0), phase: AtomicU8::new(IDLE) }
    }

    /// Forgets the counter for a new life, which may get one.
    pub(super) fn reset(&self) {
        self.fd.store(0, Relaxed);
        self.phase.store(IDLE, Relaxed);
    }

    /// Calls `arm`, which creates the counter, unless the thread is ending. `arm` returns whether to try
    /// again. For the collector.
    pub(crate) fn upgrade(&self, arm: impl FnOnce() -> bool) {
        if self.phase.compare_exchange(IDLE, UPGRADING, Acquire, Relaxed).is_ok() {
            let again = arm();
            self.phase.store(if again { IDLE } else { CLOSED }, Release);
        }
    }

    /// Keeps the thread from getting a counter from now on, at its exit. If one is being created, waits for
    /// that, some microseconds at most.
    pub(crate) fn close_upgrades(&self) {
        while self.phase.compare_exchange(IDLE, CLOSED, Acquire, Relaxed) == Err(UPGRADING) {
            native_thread::yield_now();
        }
    }
}
