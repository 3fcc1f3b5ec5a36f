//! Whether a thread that holds the GVL and waits was asked for its stack, and the looks that found that.

use std::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// See the module. The ticker asks; the thread itself answers.
#[derive(Debug)]
pub(crate) struct BlockWatch {
    asked: AtomicBool,
    /// When it was asked first, on the monotonic clock, ns.
    asked_ns: AtomicU64,
    /// The dump that it was asked for besides; 0 if there is none.
    dump: AtomicU32,
    /// The thread's CPU clock at the last look, ns.
    seen_cpu_ns: AtomicU64,
    /// When the last look was, on the monotonic clock, ns.
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

    /// Prepares it for a new life.
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

    /// The time since it was first asked, ns.
    ///
    /// # Signal safety
    /// A load.
    pub(crate) fn seen_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.asked_ns.load(Relaxed))
    }

    /// Whether the thread was asked and has not answered yet: it has not left the C code that it was in.
    ///
    /// # Signal safety
    /// A load.
    #[inline]
    pub(crate) fn is_asked(&self) -> bool {
        // Acquire pairs with the Release in `ask`: the time is there.
        self.asked.load(Acquire)
    }

    /// Takes the question. For the thread that answers.
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

    /// Takes the number of the dump that the thread was asked for; 0 if it was asked for none. For the thread that answers.
    pub(crate) fn take_dump(&self) -> u32 {
        match self.dump.load(Relaxed) {
            0 => 0,
            _ => self.dump.swap(0, Relaxed),
        }
    }

    /// The time since the last look, ns; this one is at `now_ns` on the monotonic clock. For the ticker.
    pub(crate) fn elapsed_since(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.looked_ns.swap(now_ns, Relaxed))
    }

    /// The CPU time that the thread has used since the last look, ns, which is noted. For the ticker.
    pub(crate) fn used_since(&self, cpu_ns: u64) -> u64 {
        cpu_ns.saturating_sub(self.seen_cpu_ns.swap(cpu_ns, Relaxed))
    }
}
