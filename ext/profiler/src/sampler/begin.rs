//! The start of a session.
//!
//! The VM lists the threads and their names while the sampler lock is not held. Hooks are installed before
//! that, so a thread that starts meanwhile registers itself.

use std::sync::atomic::Ordering;

use magnus::Ruby;
use profiler_core::ids::ThreadId;
use profiler_core::pipeline::hub::Hub;
use profiler_core::pipeline::SessionId;
use profiler_core::record::counters::count;
use profiler_core::session::spec::SessionSpec;

use crate::before_3_3;
use crate::capture::{allocation, gc, handler, wait};
use crate::engine::perf;
use crate::labels::Counted;
use crate::options::{Bounds, Config, ThreadChoice};
use crate::sampler::collection::Collection;
use crate::sampler::cpu_waits::CpuWaits;
use crate::sampler::fork::enter;
use crate::sampler::install::{install_once, prepare};
use crate::sampler::object_windows::ObjectWindows;
use crate::sampler::readings::ProcessReadings;
use crate::sampler::refusal::{NotStarted, Refusal};
use crate::sampler::running::thread_readings;
use crate::sampler::state::Sampler;
use crate::sampler::tick_request::TickRequest;
use crate::sampler::{thread_hooks, timers};
use crate::shared::CAPTURE;
use crate::sys::native_thread;
use crate::sys::{clock, sigprof};
use crate::threads::{self, Registry};
use crate::vm::threads::{NameChoice, RubyThread};
use crate::{labels, vm};
use profiler_core::ticking::engine::Engine;

/// Starts the timers, hooks and threads that one session needs.
pub(crate) fn start(ruby: &Ruby, config: &Config, bounds: Bounds) -> Result<SessionId, NotStarted> {
    let hub = prepare();
    // Exceptions are created only after the lock is released, as creating one runs Ruby.
    let ready = {
        let mut sampler = enter();
        sampler.end_idle_sessions(config, hub);
        sampler.check_startable(hub, config, bounds).map(|()| sampler.starting += 1)
    };
    ready?;
    // SAFETY: the GVL is held.
    unsafe { install_once() };
    // Hooks come first: a thread that starts while Ruby lists its threads then registers itself.
    let seen =
        thread_hooks::prepare_threads(ruby, config.spec.measures.timed() || config.spec.measures.native);
    gc::hook(config.spec.measures);
    wait::hook(config.spec.measures);
    let numbered = config.spec.fibers.then(labels::number_fibers);
    if config.spec.spans {
        labels::keep_spans_apart();
    }
    labels::sessions_begin();
    let prepared = seen.and_then(|()| labels::adopt_inherited(ruby)).and_then(|()| threads_for(ruby, config));
    // From here on Ruby is not called, so no other thread runs and no exception arrives.
    let begun = {
        let mut sampler = enter();
        sampler.starting -= 1;
        let begun = prepared.map(|threads| {
            let begun = sampler.begin(hub, config, bounds, &threads.list, numbered);
            threads.release();
            begun
        });
        if !matches!(begun, Ok(Ok(_))) {
            sampler.reconcile();
        }
        begun
    };
    Ok(begun??)
}

/// Returns the threads that a session has to register. None of them has ended yet.
fn threads_for(ruby: &Ruby, config: &Config) -> Result<vm::threads::LiveThreads, magnus::Error> {
    /// The largest number of requests for the list: it is requested again if more threads end meanwhile than
    /// `recent_exits` keeps.
    const TRIES: usize = 10;
    // A thread that the session does not profile may be blamed for a wait for the GVL.
    if matches!(config.threads, ThreadChoice::Current) && !config.spec.measures.wall {
        return vm::threads::only_current(ruby, NameChoice::Omitted);
    }
    for last in (0..TRIES).rev() {
        let (next_id, exits) = (threads::next_id(), threads::recent_exits::count());
        let is_known = |object| threads::live().any(|state| state.object() == object);
        let mut found = vm::threads::list_started(ruby, is_known)?;
        let (ended, complete) = threads::recent_exits::since(exits);
        if !complete && last > 0 {
            continue;
        }
        found.list.retain(|it| !ended.contains(&it.object));
        let alive: Vec<u64> = found.list.iter().map(|it| it.object).collect();
        thread_hooks::retire_all_but(&alive, next_id);
        return Ok(found);
    }
    vm::threads::only_current(ruby, NameChoice::Omitted)
}

/// Adds the calling thread to those that a session with a scope profiles.
pub(crate) fn join(ruby: &Ruby, session: SessionId) -> Result<(), magnus::Error> {
    let Some(hub) = CAPTURE.hub() else { return Ok(()) };
    let me = vm::threads::current(ruby, NameChoice::Omitted)?;
    labels::adopt_inherited(ruby)?;
    let mut sampler = enter();
    let Some(id) = register_thread(hub, &me) else { return Ok(()) };
    let Some((ticks, _)) = sampler.find(session) else { return Ok(()) };
    if let Some(threads) = ticks.threads.as_mut().filter(|it| !it.contains(&id)) {
        // There can be a thread for each request.
        threads.retain(|it| threads::live().any(|state| state.id() == *it));
        threads.push(id);
        // A thread that gets no timer is counted.
        let _ = sampler.apply_timers();
    }
    Ok(())
}

/// Registers a thread, with its labels. Returns `None` if it has ended, is the profiler's own, or the
/// registry is full.
fn register_thread(hub: &Hub, thread: &RubyThread) -> Option<ThreadId> {
    let native_id = thread.native_id?;
    // SAFETY: the GVL is held, and `thread` comes from a list that holds it.
    if unsafe { vm::own_threads::is_own(thread.object) } {
        // SAFETY: the GVL is held, and the list keeps the Thread alive.
        unsafe { wait::tag_own(thread.object) };
        return None;
    }
    if thread.current && !threads::hooked() {
        threads::current(); // retires the previous thread on this native thread
    }
    let (cpu_ns, pthread) = match thread.current {
        true => (clock::thread_cpu_ns(), native_thread::pthread_self()),
        false => (clock::cpu_ns_of(native_id)?, 0),
    };
    let Some(state) = threads::register(thread.object, native_id, pthread, cpu_ns) else {
        count(&hub.counters.threads_refused);
        return None;
    };
    if thread.current {
        state.reported.store(true, Ordering::Relaxed);
        threads::store_native(state);
    }
    wait::tag_thread(state);
    labels::refresh(hub, state, thread);
    Some(state.id())
}

/// Installs the handler of SIGPROF, if the session needs it and it is not installed yet. It stays installed.
fn own_signal(config: &Config) -> Result<(), Refusal> {
    match sigprof::owner() {
        _ if !config.spec.measures.timed() => {}
        sigprof::SignalOwner::Us => {}
        sigprof::SignalOwner::Nobody => sigprof::install(handler::on_sigprof),
        sigprof::SignalOwner::Foreign => return Err(Refusal::HandlerTaken),
    }
    Ok(())
}

/// Registers the threads that a session wants, which stay registered until no session is left, and those that
/// other threads may wait for. Returns the profiled ones; `None` means all present and future threads.
fn register(all: &[RubyThread], hub: &Hub, config: &Config) -> Result<Option<Vec<ThreadId>>, Refusal> {
    let selected = |it: &RubyThread| match &config.threads {
        ThreadChoice::All => true,
        ThreadChoice::Current => it.current,
        ThreadChoice::These(objects) => objects.contains(&it.object),
    };
    let mut found = Vec::new();
    for thread in all.iter().filter(|it| config.spec.measures.wall || selected(it)) {
        found.extend(register_thread(hub, thread).filter(|_| selected(thread)));
    }
    if found.is_empty() {
        return Err(Refusal::NoThreads);
    }
    Ok(match config.threads {
        ThreadChoice::All => None,
        _ => Some(found),
    })
}

/// Returns whether a session sees only what has certain labels, or is in a scope.
fn is_selective(config: &Config, bounds: Bounds) -> bool {
    bounds.scope.is_some() || !config.spec.is_unrestricted()
}

impl Sampler {
    fn check_startable(&mut self, hub: &'static Hub, config: &Config, bounds: Bounds) -> Result<(), Refusal> {
        if config.spec.measures.heap && !allocation::has_table() {
            return Err(Refusal::NoMemory);
        }
        if !config.spec.measures.timed() {
            return self.collector_for(hub, bounds);
        }
        let first = !self.ticks.iter().any(TickRequest::has_ticks);
        if first && self.starting == 0 {
            self.engine = config.engine;
        } else if self.engine != config.engine && config.engine_requested {
            return Err(Refusal::EngineTaken(self.engine));
        }
        if config.spec.measures.wall && before_3_3::NEEDED && self.engine == Engine::Safepoint {
            return Err(Refusal::EngineTaken(self.engine));
        }
        if first && timers::timer_is_foreign(self.engine) {
            return Err(Refusal::TimerTaken);
        }
        if let (Engine::Perf, Err(errno)) = (self.engine, perf::probe()) {
            // Counters are created later, but only now can their refusal be reported.
            return Err(Refusal::NoTimer(errno));
        }
        self.collector_for(hub, bounds)
    }

    /// Creates the collector, if it does not exist yet. A session that only watches needs none.
    fn collector_for(&mut self, hub: &'static Hub, bounds: Bounds) -> Result<(), Refusal> {
        if bounds.watch {
            return Ok(());
        }
        self.collector(hub).map_err(Refusal::NoCollector)
    }

    /// Begins a session on those of `all` threads that it wants. `numbered` is its count among the sessions
    /// that record fibers.
    fn begin(
        &mut self,
        hub: &'static Hub,
        config: &Config,
        bounds: Bounds,
        all: &[RubyThread],
        numbered: Option<Counted>,
    ) -> Result<SessionId, Refusal> {
        own_signal(config)?;
        let threads = register(all, hub, config)?;
        let id = hub.new_session();
        self.add_ticks(id, config, bounds, threads, numbered);
        threads::repoll_all();
        self.wake();
        if let Err(errno) = self.apply_timers().or_else(|errno| self.fall_back(config, errno)) {
            self.ticks.retain(|it| it.id != id);
            return Err(Refusal::NoTimer(errno));
        }
        self.apply_object_demand();
        self.apply_memory_demand();
        self.open(hub, id, config, bounds);
        Ok(id)
    }

    /// Adds the ticks of a session that begins.
    fn add_ticks(
        &mut self,
        id: SessionId,
        config: &Config,
        bounds: Bounds,
        threads: Option<Vec<ThreadId>>,
        numbered: Option<Counted>,
    ) {
        let measures = config.spec.measures;
        let is_selective = is_selective(config, bounds);
        let deepest = if self.ticks.is_empty() { 0 } else { CAPTURE.depth.load(Ordering::Relaxed) };
        CAPTURE.depth.store(deepest.max(config.depth), Ordering::Relaxed);
        let covers_process = threads.is_none() && !is_selective && !bounds.watch;
        self.ticks.push(TickRequest {
            id,
            threads,
            _counted: [is_selective.then(labels::select), numbered],
            measures,
            timeline: config.spec.timeline,
            interval_ns: config.interval_ns,
            max_overhead: config.max_overhead,
            every: config.every,
            windows: bounds.windows.then(ObjectWindows::closed),
            no_objects: None,
            untracked: 0,
            paused: false,
            is_sliced: bounds.slices,
            ends_with_slices: false,
            cpu_waits: if covers_process && (measures.cpu || measures.wall) {
                CpuWaits::Asked
            } else {
                CpuWaits::NotAsked
            },
            given_up: None,
        });
    }

    /// Opens a session in the hub, whose timers and hooks are ready: all of this work of ours comes before the
    /// first readings of its clocks.
    fn open(&mut self, hub: &Hub, id: SessionId, config: &Config, bounds: Bounds) {
        let Some(ticks) = self.ticks.iter_mut().find(|it| it.id == id) else { return };
        let measures = config.spec.measures;
        // With a scope, samples of any thread inside it are in view. `join` decides which threads get ticks.
        let in_view = match bounds.watch {
            true => Some(Vec::new()),
            false => ticks.threads.clone().filter(|_| bounds.scope.is_none()),
        };
        let spec = SessionSpec { threads: in_view, scope: bounds.scope, ..config.spec.clone() };
        let covers_process = ticks.threads.is_none() && !is_selective(config, bounds) && !bounds.watch;
        let vm_objects = (covers_process && measures.objects() && !bounds.windows).then(|| {
            // SAFETY: sessions start with the GVL held.
            unsafe { vm::allocations::total_allocated() }
        });
        // Objects allocated up to here do not belong to this session, nor do the Symbols that the first such
        // count allocates.
        allocation::flush();
        let process_cpu_ns = (covers_process && measures.cpu).then(clock::process_cpu_ns);
        let start = ProcessReadings { process_cpu_ns, vm_objects, ..ProcessReadings::now(hub) };
        // For all threads, these include those that started while Ruby listed its threads.
        let readings = thread_readings(|thread| ticks.profiles(thread));
        hub.open_as(id, spec, &Registry, start.monotonic_ns, &readings);
        if ticks.windows.is_some() {
            ticks.windows = Some(ObjectWindows::begin(hub, id, start.monotonic_ns));
        }
        self.collections.push(Collection {
            scope: bounds.scope,
            bound_to: bounds.block.then(native_thread::cached_native_id),
            labels: config.spec.labels.clone(),
            ..Collection::new(id, id, start, config.interval_ns)
        });
    }

    /// Falls back to the timer of the process if the kernel refuses a timer for a thread, and to timers if it
    /// refuses counters. The timer of the process could signal a thread that waits, so `:wall` falls back to
    /// the ticker instead.
    fn fall_back(&mut self, config: &Config, errno: i32) -> Result<(), i32> {
        if config.engine_requested || self.ticks.iter().filter(|it| it.has_ticks()).count() > 1 {
            return Err(errno);
        }
        self.engine = match self.engine {
            Engine::Perf => Engine::ThreadTimer,
            Engine::ThreadTimer if config.spec.measures.wall => Engine::Ticker,
            Engine::ThreadTimer if !timers::timer_is_foreign(Engine::Setitimer) => Engine::Setitimer,
            _ => return Err(errno),
        };
        threads::live().for_each(timers::disarm);
        self.apply_timers()
    }
}
