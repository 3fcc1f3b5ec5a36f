//! The one machine of the process: hooks, timers, ring and collector thread. It runs while there is
//! a session, and everything that it needs is made at the first start and then kept.
//!
//! All functions need the GVL, but for [`give_up`]. The lock is taken before the drain lock, and never
//! held while the VM is called in a way that could switch threads.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use magnus::Ruby;
use profiler_core::collector::{pair, Collector};
use profiler_core::counters::{count, Counts};
use profiler_core::hub::{Closed, Hub, SessionId, ThreadLife};
use profiler_core::ids::ThreadId;
use profiler_core::view::{ThreadNow, View};

use crate::capture::engine::Engine;
use crate::capture::{clock, handler, sigaction, CAPTURE};
use crate::config::{Config, Threads};
use crate::threads::{self, Registry};
use crate::vm::events::exit_hook;
use crate::vm::threads::RubyThread;
use crate::{arming, fork, labels, mark, vm};

/// 512 KiB: some 1,100 records of 50 frames.
const RING_WORDS: usize = 64 * 1024;

/// A session as the machine knows it.
#[derive(Debug)]
pub(crate) struct Active {
    id: SessionId,
    /// Only these threads; all if nothing.
    pub(crate) threads: Option<Vec<ThreadId>>,
    looks_at_labels: bool,
    pub(crate) interval_ns: u64,
    pub(crate) paused: bool,
    start: Start,
    /// Why it ended before it was stopped.
    given_up: Option<&'static str>,
}

/// What stood on the clocks and counters when a session started, or went on in a forked child.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    pub(crate) at_ns: u64,
    pub(crate) monotonic_ns: u64,
    pub(crate) counts: Counts,
    pub(crate) handler_ns: u64,
    pub(crate) collector_ns: u64,
}

impl Start {
    pub(crate) fn now(hub: &Hub) -> Self {
        Self {
            at_ns: clock::realtime_ns(),
            monotonic_ns: clock::monotonic_ns(),
            counts: hub.counters.read(),
            handler_ns: threads::handler_ns(),
            collector_ns: COLLECTOR_NS.load(Ordering::Relaxed),
        }
    }
}

/// What a session has, with what its header needs.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) closed: Closed,
    pub(crate) start: Start,
    pub(crate) end: Start,
    pub(crate) engine: Engine,
    pub(crate) given_up: Option<&'static str>,
    pub(crate) labels_refused: u64,
}

/// What the lock guards.
#[derive(Debug)]
pub(crate) struct Sampler {
    collector: Option<Collector>,
    pub(crate) sessions: Vec<Active>,
    /// Sessions on their way to be started, while the VM is asked for its threads.
    starting: usize,
    /// What fires while there are sessions.
    pub(crate) engine: Engine,
}

static SAMPLER: Mutex<Sampler> =
    Mutex::new(Sampler { collector: None, sessions: Vec::new(), starting: 0, engine: Engine::ThreadTimer });
static PREPARED: AtomicBool = AtomicBool::new(false);
/// CPU time that the collector thread has used, ns.
static COLLECTOR_NS: AtomicU64 = AtomicU64::new(0);
/// The collector thread died of a bug. Sessions drain by themselves at stop, so they still end well.
static COLLECTOR_FAILED: AtomicBool = AtomicBool::new(false);

/// Why a session cannot start or go on.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Sessions are running with another engine.
    EngineTaken(Engine),
    /// Somebody else handles SIGPROF.
    HandlerTaken,
    /// Somebody else has armed the timer of the process.
    TimerTaken,
    /// None of the threads that were asked for is alive.
    NoThreads,
    /// The kernel gives no timer; the errno.
    NoTimer(i32),
    /// There is no thread to be had for the collector.
    NoCollector(std::io::Error),
}

pub(crate) fn lock() -> MutexGuard<'static, Sampler> {
    SAMPLER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the collector thread died.
pub(crate) fn collector_failed() -> bool {
    COLLECTOR_FAILED.load(Ordering::Relaxed)
}

/// The hub, made at the first call. Needs the GVL.
fn prepare() -> &'static Hub {
    if let Some(hub) = CAPTURE.hub() {
        return hub;
    }
    let hub: &'static Hub = Box::leak(Box::new(Hub::new(RING_WORDS)));
    CAPTURE.give_hub(hub);
    hub
}

/// What only has to happen once in a process and its children, before the first record.
///
/// # Safety
/// The caller holds the GVL.
unsafe fn install_for_good() {
    if PREPARED.swap(true, Ordering::Relaxed) {
        return;
    }
    // SAFETY: the GVL is held; each of these is called this once.
    unsafe {
        vm::root::install(mark::mark);
        handler::AT_SAFEPOINT.register();
        fork::GO_ON.register();
        vm::events::at_vm_exit(at_vm_exit);
    }
    threads::call_at_native_end(arming::native_thread_ends);
    fork::install();
}

impl Sampler {
    fn collector(&mut self, hub: &'static Hub) -> Result<(), std::io::Error> {
        if self.collector.is_some() {
            return Ok(());
        }
        let (collector, worker) = pair();
        let body = move || {
            let report = || {
                COLLECTOR_NS.store(clock::thread_cpu_ns(), Ordering::Relaxed);
                if sigaction::owner() != sigaction::Owner::Us {
                    give_up("SIGPROF was given another handler");
                }
            };
            let work = || worker.work(hub, &Registry, &report);
            if std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err() {
                COLLECTOR_FAILED.store(true, Ordering::Relaxed);
            }
        };
        COLLECTOR_NS.store(0, Ordering::Relaxed);
        let thread = std::thread::Builder::new().name("profiler".into());
        sigaction::without_signals(|| thread.spawn(body))?;
        self.collector = Some(collector);
        Ok(())
    }

    /// In a forked child: the collector thread is the parent's. Its commander is leaked, as dropping it
    /// would touch what that thread may have held.
    pub(crate) fn forget_collector(&mut self) {
        std::mem::forget(self.collector.take());
        self.starting = 0;
    }

    /// In a forked child: sessions go on, with a collector and timers of their own.
    pub(crate) fn go_on(&mut self, hub: &'static Hub) {
        let start = Start::now(hub);
        for session in &mut self.sessions {
            session.start = start;
        }
        if self.sessions.is_empty() {
            return;
        }
        if self.collector(hub).is_err() || arming::rearm(self).is_err() {
            // A child that can have no thread or no timer has its time, but no stacks.
            self.sessions.iter_mut().for_each(|it| it.given_up = Some("the forked process got no timer"));
        }
        self.wake();
    }

    fn wake(&self) {
        // Release pairs with the Acquire in the handler.
        CAPTURE.enabled.store(true, Ordering::Release);
        if let Some(collector) = &self.collector {
            collector.run();
        }
    }

    fn find(&mut self, id: SessionId) -> Option<&mut Active> {
        self.sessions.iter_mut().find(|it| it.id == id)
    }

    /// Timers, hooks and collector as they are needed by the sessions that are there now.
    fn settle_down(&mut self) {
        if self.sessions.is_empty() && self.starting == 0 {
            quiet();
            arming::hooks_off();
            labels::hook_off();
            threads::clear();
            if let Some(collector) = &self.collector {
                collector.rest();
            }
        } else {
            // A timer that was there can always be set again.
            let _ = arming::rearm(self);
        }
    }
}

/// Starts everything for one session.
pub(crate) fn start(ruby: &Ruby, config: &Config) -> Result<SessionId, magnus::Error> {
    fork::catch_up();
    let hub = prepare();
    let refuse = |refusal| crate::session::refused(ruby, refusal);
    {
        let mut sampler = lock();
        sampler.ready(hub, config).map_err(refuse)?;
        sampler.starting += 1;
    }
    // SAFETY: the GVL is held.
    unsafe { install_for_good() };
    // Hooks first: a thread that is born while we ask for the list registers itself.
    arming::hooks_on();
    labels::hook_on(true);
    let asked = match &config.threads {
        Threads::Current => vm::threads::current(ruby).map(|it| vec![it]),
        Threads::All | Threads::These(_) => vm::threads::list(ruby),
    };
    let mut sampler = lock();
    sampler.starting -= 1;
    let begun = asked.and_then(|all| sampler.begin(ruby, hub, config, &all).map_err(refuse));
    if begun.is_err() {
        sampler.settle_down();
    }
    begun
}

impl Sampler {
    fn ready(&mut self, hub: &'static Hub, config: &Config) -> Result<(), Refusal> {
        if self.sessions.is_empty() && self.starting == 0 {
            self.engine = config.engine;
        } else if self.engine != config.engine && config.engine_asked {
            return Err(Refusal::EngineTaken(self.engine));
        }
        if sigaction::owner() == sigaction::Owner::Foreign {
            return Err(Refusal::HandlerTaken);
        }
        if self.sessions.is_empty() && arming::timer_is_foreign(self.engine) {
            return Err(Refusal::TimerTaken);
        }
        self.collector(hub).map_err(Refusal::NoCollector)
    }

    fn begin(
        &mut self,
        ruby: &Ruby,
        hub: &'static Hub,
        config: &Config,
        all: &[RubyThread],
    ) -> Result<SessionId, Refusal> {
        if sigaction::owner() != sigaction::Owner::Us {
            sigaction::install();
        }
        let wanted = |it: &&RubyThread| match &config.threads {
            Threads::These(objects) => objects.contains(&it.object),
            _ => true,
        };
        let mut ids = Vec::new();
        for thread in all.iter().filter(wanted) {
            let Some(native_id) = thread.native_id else { continue };
            let (cpu_ns, pthread) = match thread.current {
                true => (Some(clock::thread_cpu_ns()), clock::pthread_self()),
                false => (clock::cpu_ns_of(native_id), 0),
            };
            let Some(cpu_ns) = cpu_ns else { continue };
            let Some(state) = threads::register(thread.object, native_id, pthread, cpu_ns) else {
                count(&hub.counters.threads_refused);
                continue;
            };
            let labels = match thread.current {
                true => {
                    threads::remember_own(state);
                    labels::current_id(ruby, hub)
                }
                false => labels::id_on(ruby, hub, thread.object),
            };
            state.labels.store(labels.0, Ordering::Relaxed);
            ids.push(state.id());
        }
        if ids.is_empty() {
            return Err(Refusal::NoThreads);
        }
        let threads = (config.threads != Threads::All).then_some(ids);
        let looks_at_labels = !config.labels.is_empty();
        let view = View { threads: threads.clone(), labels: config.labels.clone() };
        CAPTURE.depth.store(
            if self.sessions.is_empty() {
                config.depth
            } else {
                CAPTURE.depth.load(Ordering::Relaxed).max(config.depth)
            },
            Ordering::Relaxed,
        );
        let start = Start::now(hub);
        let id = hub.open(view, &Registry, start.monotonic_ns, &now());
        self.sessions.push(Active {
            id,
            threads,
            looks_at_labels,
            interval_ns: config.interval_ns,
            paused: false,
            start,
            given_up: None,
        });
        if looks_at_labels {
            labels::views(true);
        }
        self.wake();
        let armed = arming::rearm(self).or_else(|errno| self.fall_back(config, errno));
        if let Err(errno) = armed {
            hub.discard(id);
            self.remove(id);
            return Err(Refusal::NoTimer(errno));
        }
        Ok(id)
    }

    /// Where the kernel gives no timer for a thread, the one of the process is left.
    fn fall_back(&mut self, config: &Config, errno: i32) -> Result<(), i32> {
        let free = !arming::timer_is_foreign(Engine::Setitimer);
        if config.engine_asked || self.engine != Engine::ThreadTimer || self.sessions.len() > 1 || !free {
            return Err(errno);
        }
        threads::live().for_each(arming::disarm);
        self.engine = Engine::Setitimer;
        arming::rearm(self)
    }

    fn remove(&mut self, id: SessionId) -> Option<Active> {
        let place = self.sessions.iter().position(|it| it.id == id)?;
        let session = self.sessions.remove(place);
        if session.looks_at_labels {
            labels::views(false);
        }
        Some(session)
    }
}

/// The threads that live, with their clocks and labels.
fn now() -> Vec<ThreadNow> {
    threads::live()
        .map(|state| ThreadNow {
            thread: state.id(),
            cpu_ns: threads::cpu_ns(state),
            labels: profiler_core::ids::LabelSetId(state.labels.load(Ordering::Relaxed)),
        })
        .collect()
}

/// The threads of a session that live, with their clocks. `named` are the threads as Ruby knows them.
fn lives(threads: Option<&[ThreadId]>, named: &[RubyThread]) -> Vec<ThreadLife> {
    threads::live()
        .filter(|state| threads.is_none_or(|ids| ids.contains(&state.id())))
        .map(|state| {
            let ruby = named.iter().find(|it| it.object == state.object());
            let info = threads::info(state, ruby.and_then(|it| it.name.clone()));
            threads::life(state, threads::cpu_ns(state), info)
        })
        .collect()
}

/// Ruby's view of the threads of a session, for their names.
pub(crate) fn named(ruby: &Ruby, session: SessionId) -> Result<Vec<RubyThread>, magnus::Error> {
    let only = lock().find(session).and_then(|it| it.threads.clone());
    let own = threads::own().map(|state| state.id());
    if only.is_some_and(|ids| ids.iter().all(|id| Some(*id) == own)) {
        return vm::threads::current(ruby).map(|it| vec![it]);
    }
    vm::threads::list(ruby)
}

/// Ends a session and takes what it has. `named` are the threads as Ruby knows them.
pub(crate) fn stop(session: SessionId, named: &[RubyThread]) -> Option<Taken> {
    let hub = CAPTURE.hub()?;
    let mut sampler = lock();
    let active = sampler.remove(session)?;
    let lives = lives(active.threads.as_deref(), named);
    let labels_refused = hub.labels_refused();
    if sampler.sessions.is_empty() {
        quiet();
    }
    let engine = sampler.engine;
    let closed = hub.close(session, &Registry, &lives);
    sampler.settle_down();
    let (start, given_up) = (active.start, active.given_up);
    Some(Taken { closed: closed?, start, end: Start::now(hub), engine, given_up, labels_refused })
}

/// What a session has so far.
pub(crate) fn snapshot(session: SessionId, named: &[RubyThread]) -> Option<Taken> {
    let hub = CAPTURE.hub()?;
    let mut sampler = lock();
    let engine = sampler.engine;
    let active = sampler.find(session)?;
    let closed = hub.snapshot(session, &Registry, &lives(active.threads.as_deref(), named))?;
    let (start, given_up) = (active.start, active.given_up);
    Some(Taken {
        closed,
        start,
        end: Start::now(hub),
        engine,
        given_up,
        labels_refused: hub.labels_refused(),
    })
}

/// Ends a session and throws away what it has.
pub(crate) fn discard(session: SessionId) {
    let mut sampler = lock();
    if let (Some(_), Some(hub)) = (sampler.remove(session), CAPTURE.hub()) {
        hub.discard(session);
        sampler.settle_down();
    }
}

/// The session looks away, until [`resume`].
pub(crate) fn pause(session: SessionId) {
    let mut sampler = lock();
    let Some(active) = sampler.find(session).filter(|it| !it.paused) else { return };
    active.paused = true;
    let lives = lives(active.threads.as_deref(), &[]);
    if let Some(hub) = CAPTURE.hub() {
        hub.pause(session, &Registry, &lives);
    }
    sampler.settle_down();
}

/// The session looks again. Why it cannot, if it was given up.
pub(crate) fn resume(session: SessionId) -> Result<(), &'static str> {
    let mut sampler = lock();
    let Some(active) = sampler.find(session).filter(|it| it.paused) else { return Ok(()) };
    if let Some(why) = active.given_up {
        return Err(why);
    }
    active.paused = false;
    if let Some(hub) = CAPTURE.hub() {
        hub.resume(session, &Registry, clock::monotonic_ns(), &now());
    }
    sampler.settle_down();
    Ok(())
}

/// Whether the session is paused.
pub(crate) fn is_paused(session: SessionId) -> bool {
    lock().find(session).is_some_and(|it| it.paused)
}

/// No session takes anything from now on, as somebody else wants SIGPROF. What they have, they keep.
/// Runs on any thread, with or without the GVL.
pub(crate) fn give_up(why: &'static str) {
    let mut sampler = lock();
    let Some(hub) = CAPTURE.hub() else { return };
    if sampler.sessions.is_empty() {
        return;
    }
    quiet();
    for session in sampler.sessions.iter_mut().filter(|it| it.given_up.is_none()) {
        session.given_up = Some(why);
        if !session.paused {
            session.paused = true;
            hub.pause(session.id, &Registry, &lives(session.threads.as_deref(), &[]));
        }
    }
}

/// No timer fires while this process may turn into another program, which it would kill.
pub(crate) fn disarm_for_exec() {
    let _sampler = lock();
    quiet();
}

/// It has not come to that: timers fire again.
pub(crate) fn rearm_after_exec() {
    fork::catch_up();
    let sampler = lock();
    let looking = sampler.sessions.iter().any(|it| it.given_up.is_none());
    if looking && arming::rearm(&sampler).is_ok() {
        sampler.wake();
    }
}

/// Sends the collector to rest while a session runs, or back to work.
#[cfg(feature = "testing")]
pub(crate) fn hold_collector(hold: bool) {
    if let Some(collector) = &lock().collector {
        if hold {
            collector.hold();
        } else {
            collector.run();
        }
    }
}

/// No more ticks; what is on its way finds capture off.
pub(crate) fn quiet() {
    CAPTURE.enabled.store(false, Ordering::Release);
    arming::disarm_all();
}

// The VM goes: from here on its functions must not be called.
exit_hook!(at_vm_exit, quiet());
