//! Who gets a timer, and how often it fires: for each thread the finest interval of the sessions that
//! look at it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use profiler_core::record::counters::count;

use crate::capture::{gvl_holder, wait};
use crate::engine::{perf, setitimer, thread_timer, ticker, Engine};
use crate::sampler::active::Active;
use crate::sampler::state::{try_lock, Sampler};
use crate::shared::CAPTURE;
use crate::sys::clock;
use crate::sys::native_thread;
use crate::threads::{self, ThreadState};
use crate::vm::gvl::HOOKS;

/// The interval of a thread that is born: the finest of the sessions that look at all threads, ns; 0 when
/// there is none.
pub(super) static AT_BIRTH_NS: AtomicU64 = AtomicU64::new(0);
/// The same for its wall clock.
pub(super) static WALL_AT_BIRTH_NS: AtomicU64 = AtomicU64::new(0);
/// Whether somebody looks at its CPU clock.
pub(super) static CPU_AT_BIRTH: AtomicBool = AtomicBool::new(false);
/// Threads have timers of their own.
pub(super) static OWN_TIMERS: AtomicBool = AtomicBool::new(true);
/// And these are perf counters.
static PERF: AtomicBool = AtomicBool::new(false);
/// The timer of the process is ours.
static PROCESS_TIMER: AtomicBool = AtomicBool::new(false);

/// Gives every thread the interval that the sessions want of it.
///
/// # Errors
/// The errno of a timer that is not to be had. The others are set all the same.
pub(crate) fn rearm(sampler: &Sampler) -> Result<(), i32> {
    let looking = || sampler.sessions.iter().filter(|it| !it.paused);
    let at_birth = finest(looking().filter(|it| it.threads.is_none()));
    AT_BIRTH_NS.store(at_birth, Ordering::Relaxed);
    let cpu_at_birth = looking().any(|it| it.threads.is_none() && it.measures.cpu);
    CPU_AT_BIRTH.store(cpu_at_birth, Ordering::Relaxed);
    measure_walls(sampler);
    let process_wide = sampler.engine == Engine::Setitimer;
    let own_timers = matches!(sampler.engine, Engine::Perf | Engine::ThreadTimer | Engine::Safepoint);
    let all_aimed = matches!(sampler.engine, Engine::Perf | Engine::Ticker);
    CAPTURE.all_aimed.store(all_aimed, Ordering::Relaxed);
    CAPTURE.aimed.store(all_aimed || ticker_interval_ns(sampler) > 0, Ordering::Relaxed);
    PERF.store(sampler.engine == Engine::Perf, Ordering::Relaxed);
    CAPTURE.process_wide.store(process_wide, Ordering::Relaxed);
    OWN_TIMERS.store(own_timers, Ordering::Relaxed);
    CAPTURE.at_safepoints.store(sampler.engine == Engine::Safepoint, Ordering::Relaxed);

    let all_finest = finest(looking());
    let mut result = Ok(());
    for state in threads::live() {
        let looking = || looking().filter(|it| it.looks_at(state.id()));
        let wanted = finest(looking());
        state.cpu_wanted.store(looking().any(|it| it.measures.cpu), Ordering::Relaxed);
        let has_what_it_needs = has_timer(state) == (wanted > 0 && own_timers);
        let before = state.interval_ns.swap(wanted, Ordering::Relaxed);
        if before == wanted && has_what_it_needs {
            continue;
        }
        if own_timers && wanted == 0 && all_finest > 0 && !perf::is_armed(state) {
            if before > 0 {
                state.armed_ns.store(clock::monotonic_ns(), Ordering::Relaxed); // kept from now on, see `end_kept_timers`
            }
        } else if !own_timers || wanted == 0 {
            disarm(state);
        } else if let Err(errno) = arm(state, wanted) {
            if is_gone(state) {
                threads::retire(state, threads::cpu_ns(state));
            } else {
                if let Some(hub) = CAPTURE.hub() {
                    count(&hub.counters.threads_refused);
                }
                result = Err(errno);
            }
        }
    }
    result = result.and(ticker::arm(ticker_interval_ns(sampler)));
    if process_wide {
        result = result.and(arm_process(all_finest));
    }
    result
}

/// The finest interval of those of the sessions that are about time, ns; 0 if there is none.
fn finest<'a>(sessions: impl Iterator<Item = &'a Active>) -> u64 {
    sessions.map(|it| it.interval_ns).filter(|it| *it > 0).min().unwrap_or(0)
}

/// Has the wall clocks of those threads measured that a session of wall clock time looks at, and of no others.
fn measure_walls(sampler: &Sampler) {
    let measuring = || sampler.sessions.iter().filter(|it| !it.paused && it.measures.wall);
    let at_birth = finest(measuring().filter(|it| it.threads.is_none()));
    WALL_AT_BIRTH_NS.store(at_birth, Ordering::Relaxed);
    let wanted = measuring().next().is_some();
    for state in threads::live() {
        if state.sampled.is_on() && is_gone(state) {
            threads::retire(state, threads::cpu_ns(state));
            continue;
        }
        let here = state.pthread.load(Ordering::Relaxed) == native_thread::pthread_self();
        if HOOKS && wanted && here {
            wait::follow(state); // in a forked child its state is another one
            gvl_holder::pass_to(state);
        }
        match finest(measuring().filter(|it| it.looks_at(state.id()))) {
            0 => state.walls_off(),
            interval_ns => state.walls_on(interval_ns, here),
        }
    }
    CAPTURE.walls.store(wanted, Ordering::Relaxed);
}

/// How often the ticker goes round, ns: as the engine, or to see who waits where no hook tells.
fn ticker_interval_ns(sampler: &Sampler) -> u64 {
    let looking = sampler.sessions.iter().filter(|it| !it.paused);
    let is_engine = sampler.engine == Engine::Ticker;
    ticker::IS_ENGINE.store(is_engine, Ordering::Relaxed);
    finest(looking.filter(|it| is_engine || !HOOKS && it.measures.wall))
}

/// Whether the native thread has ended and nobody told: Ruby 3.1 can leave that out of a thread that was
/// there before the hooks.
fn is_gone(state: &ThreadState) -> bool {
    clock::cpu_ns_of(state.native_id()).is_none()
}

pub(super) fn has_timer(state: &ThreadState) -> bool {
    state.timer.is_there() || perf::is_armed(state)
}

fn arm_process(interval_ns: u64) -> Result<(), i32> {
    setitimer::arm(interval_ns)?;
    PROCESS_TIMER.store(interval_ns > 0, Ordering::Relaxed);
    Ok(())
}

/// Whether this engine would take away a timer that somebody else has armed.
pub(crate) fn timer_is_foreign(engine: Engine) -> bool {
    engine == Engine::Setitimer && !PROCESS_TIMER.load(Ordering::Relaxed) && setitimer::is_armed()
}

/// Gives a thread its timer. Where perf is to tick it is one of the kernel's all the same, for the first milliseconds:
/// counters take ten times as long to make and to end, and most threads and sessions are short.
pub(super) fn arm(state: &'static ThreadState, interval_ns: u64) -> Result<(), i32> {
    if perf::is_armed(state) {
        return perf::arm(state, interval_ns);
    }
    state.armed_ns.store(clock::monotonic_ns(), Ordering::Relaxed);
    let armed = thread_timer::arm(state, interval_ns);
    if armed.is_err() && PERF.load(Ordering::Relaxed) {
        return perf::arm(state, interval_ns);
    }
    armed
}

/// Gives those their counters who have had a timer for a while. For the collector, now and then; says how soon again.
pub(crate) fn refine() -> Duration {
    /// What a counter costs is a percent of that.
    const WHILE_NS: u64 = 5_000_000;
    /// Some have to wait for theirs.
    const SOON: Duration = Duration::from_millis(5);
    /// For threads yet to be born, of which the collector is not told.
    const BORN: Duration = Duration::from_millis(25);
    if !PERF.load(Ordering::Relaxed) {
        return Duration::MAX;
    }
    // Held, so that no session starts or stops meanwhile, and no process forks.
    let Some(_sampler) = try_lock() else { return SOON };
    let (mut again, mut room) = (BORN, true);
    let now_ns = clock::monotonic_ns();
    for state in threads::live().filter(|it| it.timer.is_there()) {
        let interval_ns = state.interval_ns.load(Ordering::Relaxed);
        if interval_ns == 0 {
            continue;
        }
        if now_ns.saturating_sub(state.armed_ns.load(Ordering::Relaxed)) < WHILE_NS {
            again = SOON;
            continue;
        }
        if !room {
            continue;
        }
        state.refine(|| {
            let armed = if state.is_live() { perf::arm(state, interval_ns) } else { Err(libc::ESRCH) };
            room = armed != Err(libc::EMFILE);
            if armed.is_ok() {
                thread_timer::disarm(state);
            }
            // Without a descriptor to spare, the thread keeps its timer, and is asked about again.
            armed.is_ok() || !room
        });
    }
    again
}

/// Ends timers that were kept for long enough. While sessions look at other threads, one that nobody looks at any more keeps its
/// timer for a while, as do all after the session of a request: where each request has a session, the next one needs it, and
/// to make it and to end it takes 3 us, twice that where the code is not in the caches. What it ticks meanwhile is for nobody.
/// For the collector, now and then.
pub(crate) fn end_kept_timers() {
    const LONG_ENOUGH_NS: u64 = 250_000_000;
    let Some(_sampler) = try_lock() else { return };
    let now_ns = clock::monotonic_ns();
    for state in threads::live() {
        thread_timer::disarm_if(state, || {
            let kept_ns = now_ns.saturating_sub(state.armed_ns.load(Ordering::Relaxed));
            state.interval_ns.load(Ordering::Relaxed) == 0 && kept_ns > LONG_ENOUGH_NS
        });
    }
}

/// Nobody looks at any thread, but somebody will soon: timers stand still, and stay until [`end_kept_timers`].
pub(crate) fn stand_still() {
    AT_BIRTH_NS.store(0, Ordering::SeqCst);
    CPU_AT_BIRTH.store(false, Ordering::Relaxed);
    let now_ns = clock::monotonic_ns();
    for state in threads::live() {
        state.interval_ns.store(0, Ordering::Relaxed);
        state.cpu_wanted.store(false, Ordering::Relaxed);
        state.armed_ns.store(now_ns, Ordering::Relaxed);
        thread_timer::stand_still(state);
    }
}

/// Takes a thread's timer away.
pub(crate) fn disarm(state: &ThreadState) {
    thread_timer::disarm(state);
    perf::disarm(state);
}

/// Takes all timers away, also those that threads yet to be born would get, until the next [`rearm`].
pub(crate) fn disarm_all() {
    AT_BIRTH_NS.store(0, Ordering::SeqCst);
    threads::live().for_each(disarm);
    let _ = ticker::arm(0);
    if PROCESS_TIMER.swap(false, Ordering::Relaxed) {
        let _ = setitimer::arm(0);
    }
}

/// In a forked child: the timers did not come along.
pub(crate) fn forget_timers() {
    PROCESS_TIMER.store(false, Ordering::Relaxed);
}
