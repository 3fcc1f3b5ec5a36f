//! The handling of forks: a child inherits locks, the collector thread and timers that it must not use.
//!
//! The hooks of `pthread_atfork` run at every fork, including that of `Process.daemon`. Before a fork the
//! locks are taken, so that none is held by a thread that the child does not have. In the child the sessions
//! forget what they recorded, as it belongs to the parent, and continue with the one thread that exists. A
//! collector thread and timers are created when Ruby runs again: a child that only turns into another program
//! never gets them.
//!
//! In the child, capture is off and walking buffers are free, as the threads that held them are not here. The
//! registry forgets all threads except the one that forked, which gets a new id and a CPU clock of 0. Label
//! sets stay, as their ids are on fibers. A session that profiled this thread continues to do so, and one
//! that profiled only others profiles no thread. A session whose block is on a thread that is not here is
//! over, as no thread would ever end it.
//!
//! No time is counted twice: whatever was in the ring or in an aggregate at that instant stays the parent's
//! and is wiped from the copy. No time is lost: the child's account opens at 0 and its first record carries
//! the time since, with or without a timer. Neither kind of timer is inherited, so none ticks twice.
//! `spec/laws/forks_spec.rb` ends and begins processes in every way and adds the files up.
//!
//! A child of `vfork` shares the memory of its parent until it is another program. The hooks do not run
//! there, and need not.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::MutexGuard;

use profiler_core::pipeline::hub::ForkGuard;

use crate::capture::{allocation, malloc, wait, walk};
use crate::engine::{perf, setitimer, ticker};
use crate::sampler::state::{lock, Sampler};
use crate::shared::CAPTURE;
use crate::sys::clock;
use crate::sys::native_thread;
use crate::threads::{self, ThreadState};
use crate::vm::{self, jobs::Job};

/// True in a forked child whose sessions have not been continued yet.
static PENDING: AtomicBool = AtomicBool::new(false);

/// The job that continues the sessions of a forked child.
pub(crate) static CONTINUE_SESSIONS: Job = Job::new(continue_sessions);

/// The id of this process; 0 until it is read.
static PID: AtomicU32 = AtomicU32::new(0);

struct Held {
    sampler: MutexGuard<'static, Sampler>,
    drain: Option<ForkGuard<'static>>,
    /// The thread that forks.
    me: Option<&'static ThreadState>,
    /// The native id of that thread.
    native_id: i32,
}

struct Forking(UnsafeCell<Option<Held>>);

// SAFETY: libc calls `before` and then `in_parent` or `in_child` on the one thread that forks, under its own
// lock; in the child there is no other thread.
unsafe impl Sync for Forking {}

static FORKING: Forking = Forking(UnsafeCell::new(None));

/// Installs the three hooks. Must be called once; they stay for ever.
pub(crate) fn install() {
    // SAFETY: plain functions that live as long as the process.
    unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
}

unsafe extern "C" fn before() {
    let sampler = lock();
    malloc::redirected::before_fork();
    let drain = CAPTURE.hub().map(|hub| hub.before_fork());
    let held = Held { sampler, drain, me: threads::find_native(), native_id: native_thread::native_id() };
    // SAFETY: only the forking thread is here.
    unsafe { *FORKING.0.get() = Some(held) };
}

unsafe extern "C" fn in_parent() {
    // SAFETY: only the forking thread is here.
    let held = unsafe { (*FORKING.0.get()).take() };
    malloc::redirected::after_fork();
    // The locks are released only now that the slot is empty: another thread may be waiting to fork.
    drop(held);
}

unsafe extern "C" fn in_child() {
    PID.store(0, Ordering::Relaxed);
    // The child has neither the timers nor the thread that drained the ring.
    CAPTURE.enabled.store(false, Ordering::Release);
    walk::free_all();
    native_thread::forget_native_id();
    malloc::redirected::after_fork();
    malloc::start_over();
    // SAFETY: only the forking thread is here.
    let Some(mut held) = (unsafe { (*FORKING.0.get()).take() }) else { return };
    let before = held.me.map(ThreadState::id);
    // Timers are not inherited, but descriptors are.
    threads::live().for_each(perf::disarm);
    let me = threads::start_over(held.me);
    setitimer::forget();
    ticker::forget();
    threads::own::start_over();
    vm::own_threads::forget_helper();
    wait::inherit_hooks();
    allocation::start_over();
    let orphans = held.sampler.remove_orphans(held.native_id);
    if let Some(drain) = held.drain.take() {
        // A new process has used no CPU time.
        let now_ns = clock::monotonic_ns();
        let now = me.map(|state| state.header(now_ns));
        drain.start_over(now_ns, &orphans, before, now);
    }
    held.sampler.start_over(before, me.map(ThreadState::id));
    if !held.sampler.ticks.is_empty() || !orphans.is_empty() || threads::hooked() {
        PENDING.store(true, Ordering::Relaxed);
        // SAFETY: sessions only exist once the job is registered, and a fork implies that the VM still
        // exists.
        unsafe { CONTINUE_SESSIONS.trigger() };
    }
}

unsafe extern "C" fn continue_sessions(_data: *mut std::ffi::c_void) {
    continue_after_fork();
}

/// Returns the id of this process, read once: libc no longer caches it, and a session is short. Valid only
/// after [`install`].
pub(crate) fn pid() -> u32 {
    match PID.load(Ordering::Relaxed) {
        0 => {
            let pid = std::process::id();
            PID.store(pid, Ordering::Relaxed);
            pid
        }
        pid => pid,
    }
}

/// Locks the sampler for a call from Ruby. In a forked child, the first such call continues the sessions.
/// Needs the GVL.
pub(crate) fn enter() -> MutexGuard<'static, Sampler> {
    let mut sampler = lock();
    if let (true, Some(hub)) = (PENDING.swap(false, Ordering::Relaxed), CAPTURE.hub()) {
        sampler.continue_sessions(hub);
    }
    sampler
}

/// Continues the sessions of a forked child now, for calls that read captured data before they lock. Needs
/// the GVL.
pub(crate) fn continue_after_fork() {
    if PENDING.load(Ordering::Relaxed) {
        drop(enter());
    }
}
