//! The one machine of the process: hooks, timers, ring and collector thread. It runs while there is
//! a session, and everything that it needs is made at the first start and then kept.
//!
//! All functions need the GVL, but for `give_up`. The lock is taken before the drain lock, and never
//! held while the VM is called in a way that could switch threads.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use magnus::Ruby;
use profiler_core::ids::ThreadId;
use profiler_core::pipeline::collector::{Collector, Worker};
use profiler_core::pipeline::hub::Hub;
use profiler_core::pipeline::unresolved::Unresolved;
use profiler_core::pipeline::SessionId;
use profiler_core::profile::Marker;
use profiler_core::record::counters::Counts;
use profiler_core::session::state::ThreadNow;

use crate::capture::{allocation, handler, wait, CAPTURE};
use crate::engine::{ticker, Engine};
use crate::sys::{clock, sigprof};
use crate::threads::{self, Registry};
use crate::vm::allocations::LARGEST_SLOT;
use crate::vm::events::exit_hook;
use crate::vm::threads::Names;
use crate::{labels, vm};

mod active;
mod begin;
mod child;
mod exec;
pub(crate) mod fork;
mod idle;
pub(crate) mod mark;
mod running;
pub(crate) mod thread_hooks;
pub(crate) mod timers;
pub(crate) use active::Active;
pub(crate) use begin::{join, start};
pub(crate) use exec::{disarm_for_exec, give_up_elsewhere, rearm_after_exec};
pub(crate) use idle::let_go;
#[cfg(feature = "testing")]
pub(crate) use running::hold_collector;
pub(crate) use running::{
    abandon, any, discard, give_up, give_up_objects, is_paused, is_running, mark, pause, resume, snapshot,
    stop,
};

/// 512 KiB: some 1,100 records of 50 frames.
const RING_WORDS: usize = 64 * 1024;

/// What stood on the clocks and counters when a session started, or went on in a forked child.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    pub(crate) at_ns: u64,
    pub(crate) monotonic_ns: u64,
    pub(crate) counts: Counts,
    pub(crate) handler_ns: u64,
    /// Of all our threads.
    pub(crate) collector_ns: u64,
    /// CPU clock of the process, for a session that is to see all of it.
    pub(crate) process_cpu_ns: Option<u64>,
    /// Objects made so far by the VM's count, for a session that is to see all of them.
    pub(crate) vm_objects: Option<u64>,
}

impl Start {
    pub(crate) fn now(hub: &Hub) -> Self {
        Self {
            at_ns: clock::realtime_ns(),
            monotonic_ns: clock::monotonic_ns(),
            counts: hub.counters.read(),
            handler_ns: threads::handler_ns(),
            collector_ns: COLLECTOR_NS.load(Ordering::Relaxed) + ticker::used_ns(),
            process_cpu_ns: None,
            vm_objects: None,
        }
    }
}

/// What a session has, with what its header needs.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) closed: Unresolved,
    pub(crate) start: Start,
    pub(crate) end: Start,
    pub(crate) engine: Engine,
    pub(crate) given_up: Option<&'static str>,
    pub(crate) no_objects: Option<&'static str>,
    pub(crate) unfollowed: u64,
    pub(crate) labels_refused: u64,
    pub(crate) markers: Vec<Marker>,
    pub(crate) markers_refused: u64,
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

/// The lock, unless somebody has it.
pub(crate) fn try_lock() -> Option<MutexGuard<'static, Sampler>> {
    match SAMPLER.try_lock() {
        Ok(sampler) => Some(sampler),
        Err(TryLockError::Poisoned(sampler)) => Some(sampler.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
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
        vm::root::install(crate::sampler::mark::mark, crate::sampler::mark::compact);
        handler::AT_SAFEPOINT.register();
        vm::gc::learn();
        fork::GO_ON.register();
        CAPTURE.give_resync(&labels::RESYNC);
        running::DISCARD_ABANDONED.register();
        vm::events::at_vm_exit(at_vm_exit);
    }
    vm::state::find_stack();
    vm::process::shares_native_threads(); // looks into the environment the first time, for which a hook is no place
    thread_hooks::watch_registry();
    fork::install();
}

impl Sampler {
    fn collector(&mut self, hub: &'static Hub) -> Result<(), std::io::Error> {
        if self.collector.is_some() {
            return Ok(());
        }
        let body = move |worker: Worker| {
            let look_after = || {
                let again = timers::refine();
                timers::end_kept_timers();
                COLLECTOR_NS.store(clock::thread_cpu_ns(), Ordering::Relaxed);
                if sigprof::owner() != sigprof::Owner::Us {
                    give_up("SIGPROF was given another handler");
                }
                again
            };
            let work = || worker.work(hub, &Registry, &look_after);
            if std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err() {
                COLLECTOR_FAILED.store(true, Ordering::Relaxed);
            }
        };
        COLLECTOR_NS.store(0, Ordering::Relaxed);
        let named = || std::thread::Builder::new().name("profiler".into());
        let spawn = |worker| named().spawn(move || body(worker)).map(|it| it.thread().clone());
        self.collector = Some(sigprof::without_signals(|| Collector::start(spawn))?);
        Ok(())
    }

    fn wake(&self) {
        // Release pairs with the Acquire in the handler.
        CAPTURE.enabled.store(true, Ordering::Release);
        if let Some(collector) = &self.collector {
            collector.run();
        }
    }

    pub(super) fn remove(&mut self, id: SessionId) -> Option<Active> {
        let place = self.sessions.iter().position(|it| it.id == id)?;
        let session = self.sessions.remove(place);
        if session.looks_at_labels {
            labels::views(false);
        }
        if session.fibers {
            labels::number_fibers(false);
        }
        Some(session)
    }

    fn find(&mut self, id: SessionId) -> Option<&mut Active> {
        self.sessions.iter_mut().find(|it| it.id == id)
    }

    /// What the sessions want of objects: those that look, and those that want to know what of theirs is alive.
    fn look_at_objects(&self) {
        let about = || self.sessions.iter().filter(|it| it.measures.objects() && it.no_objects.is_none());
        let looking = || about().filter(|it| !it.paused);
        allocation::apply(allocation::Wanted {
            every: looking().map(|it| it.every).reduce(|one, other| one.finest(other, LARGEST_SLOT)),
            timed: looking().any(|it| it.timeline),
            heap: about().any(|it| it.measures.heap),
        });
    }

    /// Timers, hooks and collector as they are needed by the sessions that are there now.
    fn settle_down(&mut self) {
        self.look_at_objects();
        if self.sessions.is_empty() && self.starting == 0 {
            quiet();
            thread_hooks::hooks_off();
            wait::unhook();
            labels::sessions_end();
            threads::clear();
            if let Some(collector) = &self.collector {
                collector.rest();
            }
        } else {
            // A thread that gets no timer is counted.
            let _ = timers::rearm(self);
        }
    }
}

/// The threads that live, with their clocks and labels.
fn now() -> Vec<ThreadNow> {
    threads::live().map(|state| state.now(threads::cpu_ns(state))).collect()
}

/// Ruby's view of the threads of which a session may speak, for their names.
pub(crate) fn named(ruby: &Ruby, session: SessionId) -> Result<vm::threads::Threads, magnus::Error> {
    let own = threads::own().map(|state| state.id());
    let is_own = |id: &ThreadId| Some(*id) == own;
    let speaks_of_own_only =
        |it: &mut Active| !it.measures.wall && it.threads.as_ref().is_some_and(|ids| ids.iter().all(is_own));
    if lock().find(session).is_some_and(speaks_of_own_only) {
        return vm::threads::only_current(ruby, Names::Wanted);
    }
    vm::threads::list(ruby, Names::Wanted)
}

/// No more ticks; what is on its way finds capture off.
pub(crate) fn quiet() {
    CAPTURE.enabled.store(false, Ordering::Release);
    timers::disarm_all();
}

// The VM goes: from here on its functions must not be called.
exit_hook!(at_vm_exit, {
    quiet();
    allocation::end();
});
