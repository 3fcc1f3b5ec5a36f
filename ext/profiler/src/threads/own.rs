//! Ruby threads of the profiler itself: `Profiler::BackgroundThread`. They are not in the registry, so no
//! session profiles them. Their CPU time is part of the profiler's overhead.

use std::sync::atomic::{
    AtomicI32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

use crate::sys::{clock, native_thread};

/// The largest number of own threads that are counted at once. Normally there are two or three.
const MAX_THREADS: usize = 16;

static RUNNING: [OwnThread; MAX_THREADS] = [const { OwnThread::new() }; MAX_THREADS];
/// The CPU time of own threads that have ended, in nanoseconds.
static ENDED_NS: AtomicU64 = AtomicU64::new(0);

struct OwnThread {
    /// The kernel's id; 0 if the slot is free.
    native_id: AtomicI32,
    /// The CPU clock of the native thread when the own thread began, in nanoseconds: Ruby may have used the
    /// native thread before.
    start_ns: AtomicU64,
}

impl OwnThread {
    const fn new() -> Self {
        Self { native_id: AtomicI32::new(0), start_ns: AtomicU64::new(0) }
    }

    fn used_ns(&self, cpu_ns: u64) -> u64 {
        cpu_ns.saturating_sub(self.start_ns.load(Relaxed))
    }
}

/// Counts the calling thread from now on. With the GVL, so only one call at a time.
pub(crate) fn begin() {
    if let Some(free) = RUNNING.iter().find(|it| it.native_id.load(Relaxed) == 0) {
        free.start_ns.store(clock::thread_cpu_ns(), Relaxed);
        // Release pairs with the Acquire in `used_ns`.
        free.native_id.store(native_thread::native_id(), Release);
    }
}

/// Notes the end of the calling thread, which was counted. With the GVL.
pub(crate) fn end() {
    let me = native_thread::native_id();
    if let Some(mine) = RUNNING.iter().find(|it| it.native_id.load(Relaxed) == me) {
        mine.native_id.store(0, Relaxed);
        ENDED_NS.fetch_add(mine.used_ns(clock::thread_cpu_ns()), Relaxed);
    }
}

/// Returns the CPU time in nanoseconds that all own threads have used.
pub(crate) fn used_ns() -> u64 {
    let used = |it: &OwnThread| match it.native_id.load(Acquire) {
        0 => 0,
        native_id => clock::cpu_ns_of(native_id).map_or(0, |cpu_ns| it.used_ns(cpu_ns)),
    };
    ENDED_NS.load(Relaxed) + RUNNING.iter().map(used).sum::<u64>()
}

/// Returns whether that native thread is one of the own threads.
pub(crate) fn has(native_id: i32) -> bool {
    RUNNING.iter().any(|it| it.native_id.load(Relaxed) == native_id)
}

/// Forgets all own threads, in a forked child, which has none.
pub(crate) fn start_over() {
    RUNNING.iter().for_each(|it| it.native_id.store(0, Relaxed));
    ENDED_NS.store(0, Relaxed);
}
