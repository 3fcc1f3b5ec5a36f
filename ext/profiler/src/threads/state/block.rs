//! The question to a thread that waits with the GVL for its stack, and the polls that found it waiting.

use std::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// A question to one thread for its stack. The ticker asks; the thread itself answers.
#[derive(Debug)]
pub(crate) struct BlockWatch {
    asked: AtomicBool,
    /// The time at which the thread was first asked, on the monotonic clock, in nanoseconds.
    asked_ns: AtomicU64,
    /// The number of the dump for which the thread was asked in addition; 0 if there is none.
    dump: AtomicU32,
    /// The thread's CPU clock at the last poll, in nanoseconds.
    seen_cpu_ns: AtomicU64,
    /// The time of the last poll, on the monotonic clock, in nanoseconds.
    looked_ns: AtomicU64,
}

impl BlockWatch {
    pub(super) const fn new() -> Self {
        Self {
            asked: AtomicBool::new(false),
            asked_ns: AtomicU64::new(0),
            dump: AtomicU32::new(0),
            seen_cpu_ns: AtomicU64::new(0),
            looked_ns: AtomicU64::new(0),
        }
    }

    /// Prepares the question for a new life.
    pub(super) fn reset(&self) {
        self.asked.store(false, Relaxed);
        self.dump.store(0, Relaxed);
        self.seen_cpu_ns.store(0, Relaxed);
    }

    /// Asks the thread, at `now_ns` on the monotonic clock. It may be asked again. For the ticker.
    pub(crate) fn ask(&self, now_ns: u64) {
        if !self.is_asked() {
            self.asked_ns.store(now_ns, Relaxed);
            self.asked.store(true, Release);
        }
    }

    /// Returns the time in nanoseconds since the thread was first asked.
    ///
    /// # Signal safety
    /// One load.
    pub(crate) fn seen_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.asked_ns.load(Relaxed))
    }

    /// Returns whether the thread was asked and has not answered yet: it has not left the C code that it was
    /// in.
    ///
    /// # Signal safety
    /// One load.
    #[inline]
    pub(crate) fn is_asked(&self) -> bool {
        // Acquire pairs with the Release in `ask`: the time is set.
        self.asked.load(Acquire)
    }

    /// Takes the question, and returns whether there was one. For the thread that answers.
    ///
    /// # Signal safety
    /// A load, and a store if it was asked.
    #[inline]
    pub(crate) fn take(&self) -> bool {
        let asked = self.is_asked();
        if asked {
            self.asked.store(false, Relaxed);
        }
        asked
    }

    /// Asks the thread for its part of a dump.
    pub(crate) fn ask_for_dump(&self, number: u32) {
        self.dump.store(number, Relaxed);
    }

    /// Takes the number of the dump that the thread was asked for; 0 if there is none. For the thread that
    /// answers.
    pub(crate) fn take_dump(&self) -> u32 {
        match self.dump.load(Relaxed) {
            0 => 0,
            _ => self.dump.swap(0, Relaxed),
        }
    }

    /// Returns the time in nanoseconds since the last poll, and notes that the present one is at `now_ns` on
    /// the monotonic clock. For the ticker.
    pub(crate) fn elapsed_since(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.looked_ns.swap(now_ns, Relaxed))
    }

    /// Returns the CPU time in nanoseconds that the thread has used since the last poll, and notes the
    /// present reading. For the ticker.
    pub(crate) fn used_since(&self, cpu_ns: u64) -> u64 {
        cpu_ns.saturating_sub(self.seen_cpu_ns.swap(cpu_ns, Relaxed))
    }
}
