//! Before and after `exec`: the program that this process turns into must not be met by a signal of ours.

use std::sync::{Mutex, MutexGuard, PoisonError};

use magnus::{Error, Ruby};

use crate::engine::progress;
use crate::engine::{self, ticker};
use crate::sampler::fork;
use crate::sampler::settle::{give_up, quiet};
use crate::sampler::state::lock;
use crate::sys::sigprof;
use crate::vm;

/// The Ruby threads that may be about to turn this process into another program. Guarded by the sampler lock as well, so
/// that a forked child finds it unlocked.
static IN_EXEC: Mutex<Vec<u64>> = Mutex::new(Vec::new());

fn in_exec() -> MutexGuard<'static, Vec<u64>> {
    IN_EXEC.lock().unwrap_or_else(PoisonError::into_inner)
}

/// No signal of ours is on its way, and none is raised until [`rearm_after_exec`], as this thread may be about to turn the
/// process into another program. That has no handler for SIGPROF, and would die of the first one.
///
/// What outlives `execve` is what is pending for the process and for the thread that calls it; what is pending for other
/// threads goes with them. So, in this order:
///
/// 1. No engine can be armed any more, whatever other Ruby threads do meanwhile (start or stop a session, begin), as they
///    may get a turn before the system call: `engine::halt`.
/// 2. All timers and counters are taken away (`quiet`). The kernel waits for a counter's signal that is on its way before it
///    closes the counter; it delivers one of this thread's own at the end of that system call at the latest. It throws the
///    signals of POSIX timers away at exec, but it knows these by what they carry, which they lose where the quota of
///    pending signals is used up (`ulimit -i`).
/// 3. The ticker may be in the middle of a round that it began before: `ticker::wait_for_round`. What it has sent until then
///    is pending for one thread each, as is what timers and counters have sent.
/// 4. What is pending for this thread arrives when a system call returns, so by now, unless the app blocks SIGPROF; what
///    `setitimer` has sent is pending for the process until one of its threads gets round to it. Both are taken.
///
/// A program that is spawned (`spawn`, `system`, backticks) needs none of this: a forked child begins without pending
/// signals and timers, and the ticker signals threads of this process by their ids.
///
/// # Errors
/// What arrived from outside while this waited, in a Ractor that is not the main one. There sessions are given up for good:
/// the exec is not likely to fail, and its threads cannot arm those of the main Ractor again.
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
    quiet();
    ticker::wait_for_round();
    if sigprof::owner() == sigprof::Owner::Us {
        while progress::take_pending() {}
    }
    Ok(())
}

/// The same as [`give_up`], in a Ractor that is not the main one. Whoever holds the lock may wait for all Ractors to stand still,
/// as a GC does: so this waits for the lock without the Ractor's own GVL.
///
/// # Errors
/// What arrived from outside meanwhile.
pub(crate) fn give_up_elsewhere(ruby: &Ruby, why: &'static str) -> Result<(), Error> {
    vm::gvl::without_gvl(ruby, || {
        give_up(why);
        ticker::wait_for_round();
    })
}

/// In a forked child: the threads that were about to become another program are not here.
pub(super) fn forget() {
    in_exec().clear();
    engine::halt(false);
}

/// It has not come to that: timers fire again, unless another thread is about to do the same.
pub(crate) fn rearm_after_exec() {
    if !vm::process::on_main_ractor() {
        return;
    }
    fork::catch_up();
    let sampler = lock();
    let me = vm::state::current_thread();
    let others = {
        let mut in_exec = in_exec();
        in_exec.retain(|it| *it != me);
        !in_exec.is_empty()
    };
    engine::halt(others);
    let looking = sampler.sessions.iter().any(|it| it.given_up.is_none());
    if looking && !others {
        // A thread that gets no timer is counted; the others go on.
        let _ = sampler.apply_timers();
        sampler.wake();
    }
}
