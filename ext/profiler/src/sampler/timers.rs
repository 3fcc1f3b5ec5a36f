//! The timers of all threads, which are set as a [`Plan`] says.
//!
//! This module does not know what a session recorded, only which threads tick, and how finely.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use profiler_core::record::counters::count;
use profiler_core::ticking::plan::{Plan, ThreadPlan};

use crate::before_3_3;
use crate::capture::{block, wait};
use crate::engine::{blocks, perf, setitimer, thread_timer, ticker};
use crate::sampler::state::try_lock;
use crate::shared::CAPTURE;
use crate::sys::clock;
use crate::sys::native_thread;
use crate::threads::{self, ThreadState};
use profiler_core::ticking::engine::Engine;

/// The plan for threads that start: see [`of_new_threads`].
static NEW_NS: AtomicU64 = AtomicU64::new(0);
static NEW_WALL_NS: AtomicU64 = AtomicU64::new(0);
static NEW_CPU: AtomicBool = AtomicBool::new(false);
static NEW_ONLY_BLAMED: AtomicBool = AtomicBool::new(false);
/// True if threads have timers of their own.
static OWN_TIMERS: AtomicBool = AtomicBool::new(true);
/// True if these timers are replaced by perf counters later.
static PERF: AtomicBool = AtomicBool::new(false);
/// The time at which a timer was last armed, on the monotonic clock, in nanoseconds.
static ARMED_NS: AtomicU64 = AtomicU64::new(0);
/// True if some threads got no counter for lack of descriptors.
static LEFT: AtomicBool = AtomicBool::new(false);

/// Sets the timers of every thread as the plan says, and keeps its part for threads that start.
///
/// # Errors
/// The errno of a timer that the kernel refuses. The others are set nevertheless.
pub(crate) fn apply(plan: &Plan<'_>) -> Result<(), i32> {
    keep_for_new_threads(plan.of_new_threads());
    measure_walls(plan);
    CAPTURE.all_aimed.store(plan.all_aimed(), Ordering::Relaxed);
    CAPTURE.aimed.store(plan.some_aimed(), Ordering::Relaxed);
    CAPTURE.process_wide.store(plan.is_process_wide(), Ordering::Relaxed);
    CAPTURE.at_safepoints.store(plan.walks_at_safepoints(), Ordering::Relaxed);
    PERF.store(plan.has_counters(), Ordering::Relaxed);
    OWN_TIMERS.store(plan.has_thread_timers(), Ordering::Relaxed);

    let mut result = Ok(());
    for state in threads::live() {
        result = apply_to(state, plan).and(result);
    }
    ticker::IS_ENGINE.store(plan.ticker_is_engine(), Ordering::Relaxed);
    block::WHOLE_NS.store(blocks::whole_ns(plan.look_interval_ns()), Ordering::Relaxed);
    result = result.and(ticker::arm(plan.ticker_interval_ns(), plan.look_interval_ns()));
    if plan.is_process_wide() {
        result = result.and(setitimer::arm(plan.process_interval_ns()));
    }
    result
}

fn apply_to(state: &'static ThreadState, plan: &Plan<'_>) -> Result<(), i32> {
    let ThreadPlan { interval_ns, only_blamed, cpu, .. } = plan.of_thread(state.id());
    state.wanted.only_blamed.store(only_blamed, Ordering::Relaxed);
    let own_timer = plan.has_thread_timers();
    state.wanted.cpu.store(cpu, Ordering::Relaxed);
    let has_right_timer = has_timer(state) == (interval_ns > 0 && own_timer);
    let before_ns = state.wanted.interval_ns.swap(interval_ns, Ordering::Relaxed);
    if before_ns == interval_ns && has_right_timer {
        return Ok(());
    }
    if !own_timer || interval_ns == 0 {
        disarm(state);
        return Ok(());
    }
    let armed = arm(state, interval_ns);
    if armed.is_err() && has_exited(state) {
        threads::retire(state, threads::cpu_ns(state));
        return Ok(());
    }
    if let (Err(_), Some(hub)) = (armed, CAPTURE.hub()) {
        count(&hub.counters.threads_refused);
    }
    armed
}

/// Sets the intervals of the threads to those of the present plan, if nothing else has changed since
/// [`apply`]. A thread that does not tick keeps its timer, however many such threads there are: it gets the
/// interval after its next tick. For the collector, without the GVL.
pub(super) fn rearm(plan: &Plan<'_>) {
    keep_for_new_threads(plan.of_new_threads());
    for state in threads::live() {
        let ThreadPlan { interval_ns, wall_interval_ns, .. } = plan.of_thread(state.id());
        if wall_interval_ns > 0 {
            state.set_wall_interval(wall_interval_ns);
        }
        if interval_ns == 0 {
            continue;
        }
        state.wanted.interval_ns.store(interval_ns, Ordering::Relaxed);
        let is_due =
            state.ticks.have_come() && state.timer.armed_interval_ns.load(Ordering::Relaxed) != interval_ns;
        if is_due && has_timer(state) {
            state.perf.upgrade(|| {
                // A thread that gets no timer keeps the one that it has.
                let _ = arm(state, interval_ns);
                true
            });
        }
    }
    let _ = ticker::arm(plan.ticker_interval_ns(), plan.look_interval_ns());
    if plan.is_process_wide() {
        let _ = setitimer::arm(plan.process_interval_ns());
    }
}

/// Starts or stops wall clock measurement per thread, as planned.
fn measure_walls(plan: &Plan<'_>) {
    let measured = plan.measures_walls();
    for state in threads::live() {
        if state.polled.are_on() && has_exited(state) {
            threads::retire(state, threads::cpu_ns(state));
            continue;
        }
        let here = state.pthread.load(Ordering::Relaxed) == native_thread::pthread_self();
        if !before_3_3::NEEDED && measured && here {
            wait::tag_thread(state); // in a forked child its state is another one
            threads::gvl_holder::set(state);
        }
        match plan.of_thread(state.id()).wall_interval_ns {
            0 => state.walls_off(),
            interval_ns => state.walls_on(interval_ns, here),
        }
    }
    CAPTURE.walls.store(measured, Ordering::Relaxed);
}

/// Returns the plan for a thread that starts now. Any thread may call this, without a lock.
pub(super) fn of_new_threads() -> ThreadPlan {
    ThreadPlan {
        interval_ns: NEW_NS.load(Ordering::SeqCst),
        only_blamed: NEW_ONLY_BLAMED.load(Ordering::Relaxed),
        cpu: NEW_CPU.load(Ordering::Relaxed),
        wall_interval_ns: NEW_WALL_NS.load(Ordering::Relaxed),
    }
}

pub(super) fn keep_for_new_threads(plan: ThreadPlan) {
    NEW_NS.store(plan.interval_ns, Ordering::SeqCst);
    NEW_CPU.store(plan.cpu, Ordering::Relaxed);
    NEW_ONLY_BLAMED.store(plan.only_blamed, Ordering::Relaxed);
    NEW_WALL_NS.store(plan.wall_interval_ns, Ordering::Relaxed);
}

/// Arms the timer of a thread that starts.
///
/// # Errors
/// The errno of a timer that the kernel refuses.
pub(super) fn arm_new(state: &'static ThreadState) -> Result<(), i32> {
    let ThreadPlan { interval_ns, only_blamed, cpu, .. } = of_new_threads();
    state.wanted.only_blamed.store(only_blamed, Ordering::Relaxed);
    state.wanted.interval_ns.store(interval_ns, Ordering::Relaxed);
    state.wanted.cpu.store(cpu, Ordering::Relaxed);
    if !OWN_TIMERS.load(Ordering::Relaxed) || has_timer(state) || interval_ns == 0 {
        return Ok(());
    }
    let armed = arm(state, interval_ns);
    // The collector disarms without the GVL. A timer that it has not seen is disarmed here.
    if NEW_NS.load(Ordering::SeqCst) == 0 {
        disarm(state);
    }
    armed
}

/// Returns whether the native thread has ended unreported: Ruby 3.1 can omit the end of a thread that started
/// before the hooks.
fn has_exited(state: &ThreadState) -> bool {
    clock::cpu_ns_of(state.native_id()).is_none()
}

fn has_timer(state: &ThreadState) -> bool {
    state.timer.number.is_there() || perf::is_armed(state)
}

/// Returns whether this engine would take away a timer that other code has armed.
pub(crate) fn timer_is_foreign(engine: Engine) -> bool {
    engine == Engine::Setitimer && !setitimer::is_ours() && setitimer::is_armed()
}

/// Arms the timer of a thread. Even with the engine `perf` that is all for the first milliseconds. Creating
/// and ending a counter takes ten times as long, and most threads and sessions are short.
fn arm(state: &'static ThreadState, interval_ns: u64) -> Result<(), i32> {
    state.timer.armed_interval_ns.store(interval_ns, Ordering::Relaxed);
    if perf::is_armed(state) {
        return perf::arm(state, interval_ns);
    }
    let now_ns = clock::monotonic_ns();
    state.timer.armed_ns.store(now_ns, Ordering::Relaxed);
    ARMED_NS.store(now_ns, Ordering::Relaxed);
    let armed = thread_timer::arm(state, interval_ns);
    if armed.is_err() && PERF.load(Ordering::Relaxed) {
        return perf::arm(state, interval_ns);
    }
    armed
}

/// Gives each thread that has had its timer for a while a counter beside it. The collector calls this now and
/// then. Returns how soon to call it again.
pub(crate) fn upgrade_timers() -> Duration {
    /// The age of a timer at which the thread gets a counter. A counter costs a percent of that.
    const WHILE_NS: u64 = 5_000_000;
    /// The pause while some threads have to wait for their counters.
    const SOON: Duration = Duration::from_millis(5);
    /// The pause for a while after a thread has started, as others may follow: the collector is not notified
    /// of them.
    const LONG: Duration = Duration::from_millis(25);
    const RECENT_NS: u64 = 1_000_000_000;
    let now_ns = clock::monotonic_ns();
    let is_due = ARMED_NS.load(Ordering::Relaxed) + RECENT_NS > now_ns;
    if !PERF.load(Ordering::Relaxed) || !(is_due || LEFT.load(Ordering::Relaxed)) {
        return Duration::MAX;
    }
    // The lock is held so that no session starts or stops meanwhile, and no process forks.
    let (mut next_pause, mut has_descriptors) = (if is_due { LONG } else { Duration::MAX }, true);
    let Some(_sampler) = try_lock() else { return SOON };
    for state in threads::live().filter(|it| it.timer.number.is_there() && !perf::is_armed(it)) {
        let interval_ns = state.wanted.interval_ns.load(Ordering::Relaxed);
        if interval_ns == 0 {
            continue;
        }
        if now_ns.saturating_sub(state.timer.armed_ns.load(Ordering::Relaxed)) < WHILE_NS {
            next_pause = SOON;
            continue;
        }
        if !has_descriptors {
            continue;
        }
        state.perf.upgrade(|| {
            let armed = if state.is_live() { perf::arm(state, interval_ns) } else { Err(libc::ESRCH) };
            has_descriptors = armed != Err(libc::EMFILE);
            // Without a descriptor to spare the thread keeps its timer, and is tried again later.
            armed.is_ok() || !has_descriptors
        });
    }
    LEFT.store(!has_descriptors, Ordering::Relaxed);
    next_pause
}

/// Ends the timer and the counter of a thread.
pub(crate) fn disarm(state: &ThreadState) {
    thread_timer::disarm(state);
    perf::disarm(state);
}

/// Ends all timers, including those that future threads would get, until the next [`apply`].
pub(crate) fn disarm_all() {
    NEW_NS.store(0, Ordering::SeqCst);
    threads::live().for_each(disarm);
    let _ = ticker::arm(0, 0);
    setitimer::disarm();
}
