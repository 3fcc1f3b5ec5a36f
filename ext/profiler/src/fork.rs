//! What a forked child inherits and must not use: the drain lock, the collector thread, the timers.
//!
//! `pthread_atfork` sees every fork, also that of `Process.daemon`. Before it, the two locks are
//! taken, so that none is held by a thread that the child does not have. In the child the parent's
//! sessions are forgotten: they are the parent's.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::MutexGuard;

use profiler_core::hub::ForkGuard;

use crate::capture::{walk, CAPTURE};
use crate::sampler::{self, Sampler};
use crate::threads;

/// How many forks lie between this process and the first one that loaded the profiler.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// Tells whether a session is of this process or of a parent.
pub(crate) fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

#[derive(Default)]
struct Held {
    sampler: Option<MutexGuard<'static, Sampler>>,
    drain: Option<ForkGuard<'static>>,
}

struct Forking(UnsafeCell<Option<Held>>);

// SAFETY: libc calls `before` and then `in_parent` or `in_child` on the one thread that forks, under
// its own lock; in the child there is no other thread.
unsafe impl Sync for Forking {}

static FORKING: Forking = Forking(UnsafeCell::new(None));

/// Installs the three hooks. Call it once; they stay for ever.
pub(crate) fn install() {
    // SAFETY: plain functions that live as long as the process.
    unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
}

unsafe extern "C" fn before() {
    let held = Held { sampler: Some(sampler::lock()), drain: CAPTURE.hub().map(|hub| hub.before_fork()) };
    // SAFETY: only the forking thread is here.
    unsafe { *FORKING.0.get() = Some(held) };
}

unsafe extern "C" fn in_parent() {
    // SAFETY: only the forking thread is here.
    unsafe { *FORKING.0.get() = None };
}

unsafe extern "C" fn in_child() {
    // The timers did not come along, nor did the thread that drained.
    CAPTURE.enabled.store(false, Ordering::Release);
    walk::free_all();
    GENERATION.fetch_add(1, Ordering::Relaxed);
    threads::clear();
    // SAFETY: only the forking thread is here.
    let Some(mut held) = (unsafe { (*FORKING.0.get()).take() }) else { return };
    if let Some(drain) = held.drain.take() {
        drain.forget_sessions();
    }
    if let Some(mut sampler) = held.sampler.take() {
        sampler.reset_after_fork();
    }
}
