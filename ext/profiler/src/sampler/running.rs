//! The operations on a running session.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use magnus::Ruby;
use profiler_core::ids::{ScopeId, ThreadId};
use profiler_core::pipeline::hub::Hub;
use profiler_core::pipeline::SessionId;
use profiler_core::profile::{LabelSet, Requests, Thread};
use profiler_core::result::taken::{Take, Taken};
use profiler_core::session::state::ThreadNow;

use crate::capture::{allocation, wait};
use crate::sampler::active::Active;
use crate::sampler::cpu_waits::CpuWaits;
use crate::sampler::fork::enter;
use crate::sampler::markers::{Interval, Markers};
use crate::sampler::readings::Start;
use crate::sampler::reconcile::stop_ticks;
use crate::sampler::session_result::{Facts, SessionResult};
use crate::sampler::state::Sampler;
use crate::sampler::tables;
use crate::shared::CAPTURE;
use crate::sys::clock;
use crate::threads::{self, Registry, ThreadState};
use crate::vm;
use crate::vm::jobs::Job;
use crate::vm::threads::{Names, RubyThread};
use profiler_core::ticking::engine::Engine;

/// Stops a session and takes its result. `named` are the threads as Ruby lists them.
pub(crate) fn stop(session: SessionId, named: &[RubyThread]) -> Option<SessionResult> {
    let hub = CAPTURE.hub()?;
    let mut sampler = enter();
    if let Some(slice) = sampler.remove_slice(session) {
        return slice.stop(&mut sampler, hub, named);
    }
    let mut active = sampler.remove(session)?;
    sampler.remove_slices_of(session).into_iter().for_each(|it| hub.discard(it));
    active.record_open_waits(hub, named, None);
    active.record_live_objects(hub);
    let lives = active.thread_lives(named);
    let (cpu_waits, _) = active.cpu_waits.rotate();
    if sampler.sessions.is_empty() {
        stop_ticks();
    }
    let engine = sampler.engine;
    let sums = hub.take(session, &Registry, &lives, Take::Close, clock::monotonic_ns());
    sampler.reconcile();
    Some(active.result(sums?, engine, hub, cpu_waits))
}

/// Takes the result of a session so far.
pub(crate) fn snapshot(session: SessionId, named: &[RubyThread]) -> Option<SessionResult> {
    result_so_far(session, named, Take::Snapshot)
}

/// Takes the result of a session since its start or its last rotation. It goes on from the same clocks.
pub(crate) fn rotate(session: SessionId, named: &[RubyThread]) -> Option<SessionResult> {
    result_so_far(session, named, Take::Rotate)
}

fn result_so_far(session: SessionId, named: &[RubyThread], how: Take) -> Option<SessionResult> {
    let hub = CAPTURE.hub()?;
    let mut sampler = enter();
    let (engine, governor) = (sampler.engine, sampler.governor);
    let active = sampler.find(session)?;
    let ticks_each_ns = active.ticks_each_ns(&governor);
    active.record_open_waits(hub, named, None);
    active.record_live_objects(hub);
    let lives = active.thread_lives(named);
    let sums = hub.take(session, &Registry, &lives, how, clock::monotonic_ns())?;
    let (cpu_waits, next_cpu_waits) = active.cpu_waits.rotate();
    let result = active.result(sums, engine, hub, cpu_waits);
    if how != Take::Snapshot {
        active.start = active.start.next(&result.facts.end);
        active.markers = Markers::default();
        active.requests = Requests::default();
        active.windows = active.windows.map(|it| it.next(result.facts.end.monotonic_ns));
        active.widest_ns = ticks_each_ns;
        active.cpu_waits = next_cpu_waits;
    }
    Some(result)
}

impl Active {
    /// Records the stack of each thread that still waits, or of those that do inside `scope`. A wait would else show only once it
    /// is over.
    pub(super) fn record_open_waits(&self, hub: &Hub, named: &[RubyThread], scope: Option<ScopeId>) {
        if !self.measures.wall || self.paused {
            return;
        }
        let is_inside =
            |it: &&ThreadState| scope.is_none_or(|scope| it.scope.load(Ordering::Relaxed) == scope.0);
        for state in
            threads::live().filter(|it| it.walls.is_blocked() && self.profiles(it.id())).filter(is_inside)
        {
            if named.iter().any(|it| it.object == state.object()) {
                // SAFETY: Ruby has just listed the thread as alive, and the GVL was not let go of since.
                unsafe { wait::record_open(hub, state) };
                hub.drain_batch(&Registry);
            }
        }
    }

    /// Flushes the objects that were allocated up to here, and notes which of them are live.
    fn record_live_objects(&mut self, hub: &Hub) {
        allocation::flush();
        if self.measures.heap && self.no_objects.is_none() {
            let (live, refused) = allocation::live_objects();
            self.untracked = refused;
            hub.note_live(self.id, &Registry, &live, vm::allocations::collections());
        }
    }

    pub(super) fn result(
        &self,
        sums: Taken,
        engine: Engine,
        hub: &'static Hub,
        cpu_waits: (u64, u64),
    ) -> SessionResult {
        let facts = Facts {
            start: self.start,
            end: Start::now(hub),
            engine,
            given_up: self.given_up,
            no_objects: self.no_objects,
            untracked: self.untracked,
            cpu_waits,
            widest_ns: self.widest_ns,
            markers: self.markers.clone(),
            requests: self.requests.clone(),
            object_windows: self.windows.map(|it| it.seen(clock::monotonic_ns())),
        };
        SessionResult { sums, facts, hub }
    }
}

/// Sessions whose objects the GC has freed, and which nobody can stop any more.
static ABANDONED: Mutex<Vec<SessionId>> = Mutex::new(Vec::new());

/// The job that discards them, where Ruby checks its interrupts.
pub(crate) static DISCARD_ABANDONED: Job = Job::new(discard_abandoned);

/// Has a session discarded soon, as its object is being freed.
///
/// *Runs on:* the thread that collects garbage. *GVL:* held.
pub(crate) fn abandon(session: SessionId) {
    ABANDONED.lock().unwrap_or_else(PoisonError::into_inner).push(session);
    // SAFETY: a session has begun, so the job is known.
    unsafe { DISCARD_ABANDONED.trigger() };
}

unsafe extern "C" fn discard_abandoned(_data: *mut std::ffi::c_void) {
    let abandoned = std::mem::take(&mut *ABANDONED.lock().unwrap_or_else(PoisonError::into_inner));
    for session in abandoned {
        enter().abandon_slice(session);
        discard(session);
    }
}

/// Ends a session and discards what it has recorded.
pub(crate) fn discard(session: SessionId) {
    let mut sampler = enter();
    let Some(hub) = CAPTURE.hub() else { return };
    if !sampler.discard_slice(session, hub) {
        sampler.discard(session, hub);
    }
}

impl Sampler {
    /// Ends a session, and its slices, and discards what they have recorded.
    pub(super) fn discard(&mut self, session: SessionId, hub: &Hub) {
        if self.remove(session).is_some() {
            allocation::flush();
            self.remove_slices_of(session).into_iter().chain([session]).for_each(|it| hub.discard(it));
            tables::renew(hub, 0);
            self.reconcile();
        }
    }
}

/// Pauses the session until [`resume`].
pub(crate) fn pause(session: SessionId) {
    let mut sampler = enter();
    let Some(active) = sampler.find(session).filter(|it| !it.paused) else { return };
    active.paused = true;
    // Readings of the whole process would include the pause.
    active.start.process_cpu_ns = None;
    active.cpu_waits = CpuWaits::NotAsked;
    active.start.vm_objects = None;
    allocation::flush();
    let lives = active.thread_lives(&[]);
    if let Some(hub) = CAPTURE.hub() {
        hub.pause(session, &Registry, &lives);
    }
    sampler.reconcile();
}

/// Resumes the session. The error is the reason why it cannot, if it was given up.
pub(crate) fn resume(session: SessionId) -> Result<(), &'static str> {
    let mut sampler = enter();
    let Some(active) = sampler.find(session).filter(|it| it.paused) else { return Ok(()) };
    if let Some(why) = active.given_up {
        return Err(why);
    }
    active.paused = false;
    threads::repoll_all();
    allocation::flush();
    if let Some(hub) = CAPTURE.hub() {
        hub.resume(session, &Registry, clock::monotonic_ns(), &thread_readings());
    }
    sampler.reconcile();
    Ok(())
}

/// Opens or closes a window of a session that has windows. Others, and those that are over, stay as they are. Needs the GVL.
pub(crate) fn sample_objects(session: SessionId, open: bool) {
    let mut sampler = enter();
    let (Some(hub), Some(active)) = (CAPTURE.hub(), sampler.find(session)) else { return };
    let Some(windows) = active.windows.as_mut().filter(|it| it.is_open() != open) else { return };
    windows.set_open(open, clock::monotonic_ns());
    // Objects up to here are still in the window before, of this session or of others.
    allocation::flush();
    hub.rest_objects(session, &Registry, !open);
    sampler.apply_object_demand();
}

/// Whether there is a session.
pub(crate) fn any() -> bool {
    !enter().sessions.is_empty()
}

/// Whether there is a session that is not limited to a scope.
pub(crate) fn any_unscoped() -> bool {
    enter().sessions.iter().any(|it| it.scope.is_none())
}

/// Records a marker in the sessions that profile the calling thread: it did what it calls `name` since `started_ns` on the
/// monotonic clock. `info` returns the thread with its name.
pub(crate) fn record_marker(name: &str, started_ns: u64, info: impl FnOnce() -> Option<Thread>) {
    if !vm::process::on_main_ractor() {
        return; // no session profiles its threads, and the holder of the lock may wait for all Ractors to stop
    }
    let mut sampler = enter();
    if sampler.sessions.is_empty() {
        return;
    }
    let Some(state) = threads::current() else { return };
    let (me, scope) = (state.id(), ScopeId(state.scope.load(Ordering::Relaxed)));
    let (now_ns, at_ns) = (clock::monotonic_ns(), clock::realtime_ns());
    let Some(thread) = info() else { return };
    let interval = Interval { name, thread, started_ns, now_ns, at_ns };
    let is_own = |of: Option<ScopeId>| of.is_none_or(|it| it == scope);
    for it in sampler.sessions.iter_mut().filter(|it| !it.paused && it.profiles(me) && is_own(it.scope)) {
        it.markers.push(&interval, it.start.monotonic_ns);
    }
    for it in sampler.slices.iter_mut().filter(|it| is_own(Some(it.scope))) {
        it.markers.push(&interval, it.start.monotonic_ns);
    }
}

/// Counts a request that ends now on the calling thread in the sessions that profile it, but for those of single requests. `all` are
/// its labels with those around it, by which sessions select.
pub(crate) fn count_request(own: &LabelSet, all: &LabelSet, took_ns: u64) {
    let Some(me) = threads::current().map(|it| it.id()) else { return };
    let mut sampler = enter();
    let counts =
        |it: &&mut Active| !it.paused && it.scope.is_none() && it.profiles(me) && all.has_all(&it.labels);
    sampler.sessions.iter_mut().filter(counts).for_each(|it| it.requests.record(own, took_ns));
}

/// Whether the session has begun and not ended, be it paused or not.
pub(crate) fn is_running(session: SessionId) -> bool {
    let mut sampler = enter();
    sampler.find(session).is_some() || sampler.slices.iter().any(|it| it.id == session)
}

/// Whether the session is paused.
pub(crate) fn is_paused(session: SessionId) -> bool {
    enter().find(session).is_some_and(|it| it.paused)
}

/// Ends the sampling of objects in all sessions, or with `heap_alone` in those that track live objects. These keep the
/// objects that are live now. Needs the GVL.
pub(crate) fn give_up_objects(heap_alone: bool, why: &'static str) {
    let mut sampler = enter();
    let Some(hub) = CAPTURE.hub() else { return };
    for session in sampler.sessions.iter_mut().filter(|it| it.no_objects.is_none()) {
        if session.measures.heap || session.measures.objects() && !heap_alone {
            session.record_live_objects(hub);
            session.no_objects = Some(why);
            session.start.vm_objects = None;
        }
    }
    sampler.apply_object_demand();
}

/// Holds the collector while a session runs, or lets it run again.
#[cfg(feature = "testing")]
pub(crate) fn hold_collector(hold: bool) {
    if let Some(collector) = &enter().collector {
        if hold {
            collector.hold();
        } else {
            collector.run();
        }
    }
}

/// The threads that a session's result may name, as Ruby lists them with their names.
pub(crate) fn result_threads(ruby: &Ruby, session: SessionId) -> Result<vm::threads::Threads, magnus::Error> {
    let own = threads::current_native_cached().map(|state| state.id());
    let is_own = |id: &ThreadId| Some(*id) == own;
    let names_only_caller =
        |it: &mut Active| !it.measures.wall && it.threads.as_ref().is_some_and(|ids| ids.iter().all(is_own));
    if enter().find(session).is_some_and(names_only_caller) {
        return vm::threads::only_current(ruby, Names::Included);
    }
    vm::threads::list(ruby, Names::Included)
}

/// The live threads, with their clocks and labels.
pub(super) fn thread_readings() -> Vec<ThreadNow> {
    threads::live().map(|state| state.now(threads::cpu_ns(state))).collect()
}
