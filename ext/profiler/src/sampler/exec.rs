//! The preparation for `exec`, and its reversal. No signal of ours may reach the program that this process
//! turns into.

use std::sync::{Mutex, MutexGuard, PoisonError};

use magnus::{Error, Ruby};

use crate::engine::{self, round};
use crate::sampler::fork::enter;
use crate::sampler::reconcile::{give_up, stop_ticks};
use crate::sampler::state::lock;
use crate::sys::sigprof;
use crate::vm;

/// The Ruby threads that may be about to turn this process into another program. The sampler lock guards the
/// list as well, so a forked child finds it unlocked.
static IN_EXEC: Mutex<Vec<u64>> = Mutex::new(Vec::new());

fn in_exec() -> MutexGuard<'static, Vec<u64>> {
    IN_EXEC.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Disarms all engines until [`rearm_after_exec`], as this thread may be about to turn the process into
/// another program. When this returns, no signal of the profiler is pending. The other program has no handler
/// for SIGPROF, and the first one would end it.
///
/// Signals that are pending for the process, and for the thread that calls `execve`, outlive that call.
/// Signals that are pending for other threads disappear with them. So, in this order:
///
/// 1. `engine::halt`: no engine can be armed any more, whatever other Ruby threads do meanwhile (begin, or
///    start or stop a session). They may get a turn before the system call.
/// 2. `stop_ticks`: all timers and counters are ended. If a counter's signal is on its way, the kernel waits
///    for it before it closes the counter. It delivers a signal for this thread at the end of that system
///    call at the latest. At exec it discards the signals of POSIX timers, but it recognizes them by the data
///    that they carry. They lose that data if the quota of pending signals is used up (`ulimit -i`).
/// 3. `round::wait_for_end`: the ticker may be in the middle of a round that it began before. Each signal
///    that it has sent until then is pending for one thread, as are those of timers and counters.
/// 4. `sigprof::take_pending`: a signal that is pending for this thread arrives when a system call returns,
///    so it has arrived by now, unless the app blocks SIGPROF. A signal of `setitimer` is pending for the
///    process until one of its threads handles it. Both kinds are taken.
///
/// A program that is spawned (`spawn`, `system`, backticks) needs none of this. A forked child begins without
/// pending signals and timers, and the ticker signals threads of this process by their ids.
///
/// # Errors
/// In a Ractor that is not the main one, the exception that arrived from outside while this waited. There,
/// sessions are given up for good: the exec is not likely to fail, and the Ractor's threads cannot arm those
/// of the main Ractor again.
pub(crate) fn disarm_for_exec(ruby: &Ruby) -> Result<(), Error> {
    if !vm::process::on_main_ractor() {
        return give_up_elsewhere(ruby, "exec was called in a Ractor");
    }
    let _sampler = lock();
    let (me, mut in_exec) = (vm::state::current_thread(), in_exec());
    if !in_exec.contains(&me) {
        in_exec.push(me);
    }
    engine::halt(true);
    stop_ticks();
    round::wait_for_end();
    if sigprof::owner() == sigprof::SignalOwner::Us {
        while sigprof::take_pending() {}
    }
    Ok(())
}

/// Gives up all sessions as [`give_up`] does, in a Ractor that is not the main one. The holder of the lock
/// may wait for all Ractors to stop, as a GC does. So this waits for the lock without the Ractor's own GVL.
///
/// # Errors
/// The exception that arrived from outside during the call.
pub(crate) fn give_up_elsewhere(ruby: &Ruby, why: &'static str) -> Result<(), Error> {
    vm::gvl::release(ruby, || {
        give_up(why);
        round::wait_for_end();
    })
}

/// Forgets, in a forked child, the threads that were about to call exec: the child does not have them.
pub(super) fn forget() {
    in_exec().clear();
    engine::halt(false);
}

/// Arms the timers again after an exec that did not happen, unless another thread is about to call exec as
/// well.
pub(crate) fn rearm_after_exec() {
    if !vm::process::on_main_ractor() {
        return;
    }
    let mut sampler = enter();
    let me = vm::state::current_thread();
    let others = {
        let mut in_exec = in_exec();
        in_exec.retain(|it| *it != me);
        !in_exec.is_empty()
    };
    engine::halt(others);
    let any_active = sampler.ticks.iter().any(|it| it.given_up.is_none());
    if any_active && !others {
        // A thread that gets no timer is counted, and the others continue.
        let _ = sampler.apply_timers();
        sampler.wake();
    }
}
