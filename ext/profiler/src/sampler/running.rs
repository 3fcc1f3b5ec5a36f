//! The operations on a running session.

use std::sync::{Mutex, PoisonError};

use magnus::Ruby;
use profiler_core::ids::{ScopeId, ThreadId};
use profiler_core::pipeline::hub::Hub;
use profiler_core::pipeline::SessionId;
use profiler_core::profile::{LabelSet, Thread};
use profiler_core::record::Header;
use profiler_core::sampling::live_objects::LiveObject;

use crate::capture::{allocation, malloc, wait};
use crate::sampler::collection::Collection;
use crate::sampler::cpu_waits::CpuWaits;
use crate::sampler::fork::enter;
use crate::sampler::markers::Interval;
use crate::sampler::state::Sampler;
use crate::sampler::tables;
use crate::sampler::tick_request::TickRequest;
use crate::shared::CAPTURE;
use crate::sys::clock;
use crate::threads::{self, Registry, ThreadState};
use crate::vm;
use crate::vm::jobs::Job;
use crate::vm::threads::{NameChoice, RubyThread};

impl TickRequest {
    /// Records the stack of each thread that still waits, or only of those inside `scope`. Otherwise a wait
    /// would appear only once it is over.
    pub(super) fn record_open_waits(&self, hub: &Hub, named: &[RubyThread], scope: Option<ScopeId>) {
        if !self.measures.wall || self.paused {
            return;
        }
        let is_inside = |it: &&ThreadState| scope.is_none_or(|scope| it.labels.scope_id() == scope);
        for state in
            threads::live().filter(|it| it.walls.is_suspended() && self.profiles(it.id())).filter(is_inside)
        {
            if named.iter().any(|it| it.object == state.object()) {
                // SAFETY: Ruby has just listed the thread as alive, and the GVL was not released since.
                unsafe { wait::record_open(hub, state) };
                hub.drain_batch(&Registry);
            }
        }
    }

    /// Flushes the objects and blocks that were allocated up to here.
    pub(super) fn flush_memory(&self, hub: &Hub) {
        allocation::flush();
        if self.measures.native {
            malloc::send_lost(hub);
        }
    }

    /// Flushes the objects and blocks that were allocated up to here, and notes which of them are live. `owned`
    /// are the live blocks with their owners, if these were looked for.
    pub(super) fn record_live_objects(&mut self, hub: &Hub, owned: Option<Vec<LiveObject>>) {
        self.flush_memory(hub);
        if self.measures.heap && self.no_objects.is_none() {
            let (live, refused) = allocation::live_objects();
            self.untracked = refused;
            hub.note_live(self.id, &Registry, &live, vm::allocations::collections());
        }
        if self.measures.native {
            let (live, refused) = malloc::live_blocks();
            self.untracked = refused;
            hub.note_live(self.id, &Registry, &owned.unwrap_or(live), 0);
        }
    }
}

/// The sessions whose objects the GC has freed, so that no caller can stop them any more.
static ABANDONED: Mutex<Vec<SessionId>> = Mutex::new(Vec::new());

/// The job that discards these sessions, where Ruby checks its interrupts.
pub(crate) static DISCARD_ABANDONED: Job = Job::new(discard_abandoned);

/// Requests that a session is discarded soon, as its object is being freed.
///
/// *Runs on:* the thread that collects garbage. *GVL:* held.
pub(crate) fn abandon(session: SessionId) {
    ABANDONED.lock().unwrap_or_else(PoisonError::into_inner).push(session);
    // SAFETY: a session has begun, so the job is registered.
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
    sampler.discard(session, hub);
}

impl Sampler {
    /// Ends a session with its slices, or a slice, and discards what they have recorded.
    pub(super) fn discard(&mut self, session: SessionId, hub: &Hub) {
        self.discard_slices_of(session, hub);
        if self.remove(session).is_some() {
            allocation::flush();
            hub.discard(session);
            tables::renew(hub, 0);
            self.reconcile();
        } else if let Some(slice) = self.remove_collection(session) {
            hub.discard(session);
            tables::renew(hub, 0);
            self.end_with_slices(slice.ticks_of, hub);
        }
    }
}

/// Pauses the session until [`resume`].
pub(crate) fn pause(session: SessionId) {
    let mut sampler = enter();
    let (Some(hub), Some((ticks, collection))) = (CAPTURE.hub(), sampler.find(session)) else { return };
    if ticks.paused || collection.is_slice() {
        return;
    }
    collection.start.vm_objects = None;
    allocation::flush();
    ticks.pause(collection, hub);
    sampler.reconcile();
}

impl TickRequest {
    /// Pauses these ticks on behalf of that collection.
    pub(super) fn pause(&mut self, collection: &mut Collection, hub: &Hub) {
        self.paused = true;
        // Readings of the whole process would include the pause.
        self.cpu_waits = CpuWaits::NotAsked;
        collection.start.process_cpu_ns = None;
        collection.pauses.begin(clock::monotonic_ns());
        hub.pause(collection.id, &Registry, &self.thread_lives(&[]));
    }
}

/// Resumes the session. If it was given up, returns the reason as an error.
pub(crate) fn resume(session: SessionId) -> Result<(), &'static str> {
    let mut sampler = enter();
    let Some((ticks, collection)) = sampler.find(session).filter(|(ticks, _)| ticks.paused) else {
        return Ok(());
    };
    if let Some(why) = ticks.given_up {
        return Err(why);
    }
    ticks.paused = false;
    collection.pauses.end(clock::monotonic_ns());
    threads::repoll_all();
    allocation::flush();
    if let Some(hub) = CAPTURE.hub() {
        hub.resume(session, &Registry, clock::monotonic_ns(), &thread_readings(|_| true));
    }
    sampler.reconcile();
    Ok(())
}

/// Opens or closes a window of a session that has windows. No-op for other sessions, and for those that are
/// over. Needs the GVL.
pub(crate) fn sample_objects(session: SessionId, open: bool) {
    let mut sampler = enter();
    let (Some(hub), Some(ticks)) = (CAPTURE.hub(), sampler.ticks(session)) else { return };
    let Some(windows) = ticks.windows.as_mut().filter(|it| it.is_open() != open) else { return };
    windows.set_open(open, clock::monotonic_ns());
    // Objects up to here still belong to the previous window, of this session or of others.
    allocation::flush();
    hub.set_objects_paused(session, &Registry, !open);
    sampler.apply_object_demand();
}

/// Returns whether there is a session with samples.
pub(crate) fn any() -> bool {
    enter().has_samples()
}

/// Returns whether there is a session that is not limited to a scope.
pub(crate) fn any_unscoped() -> bool {
    enter().each().any(|(ticks, it)| ticks.has_samples() && it.scope.is_none())
}

/// Records a marker in the sessions that profile the calling thread: the interval `name`, which began at
/// `started_ns` on the monotonic clock. `info` returns the thread with its name.
pub(crate) fn record_marker(name: &str, started_ns: u64, info: impl FnOnce() -> Option<Thread>) {
    if !vm::process::on_main_ractor() {
        return; // no session profiles its threads, and the holder of the lock may wait for all Ractors to stop
    }
    let mut sampler = enter();
    if sampler.ticks.is_empty() {
        return;
    }
    let Some(state) = threads::current() else { return };
    let (me, scope) = (state.id(), state.labels.scope_id());
    let (now_ns, at_ns) = (clock::monotonic_ns(), clock::realtime_ns());
    let Some(thread) = info() else { return };
    let interval = Interval { name, thread, started_ns, now_ns, at_ns };
    let is_own = |it: &Collection| it.scope.is_none_or(|it| it == scope);
    let profiles =
        |ticks: &TickRequest, it: &Collection| it.is_slice() || !ticks.paused && ticks.profiles(me);
    for (_, it) in sampler.each().filter(|(ticks, it)| is_own(it) && profiles(ticks, it)) {
        it.markers.push(&interval, it.start.monotonic_ns);
    }
}

/// Counts a request that ends now on the calling thread, in the sessions that profile it, except those of
/// single requests. `all` are its labels together with those around it, by which sessions select.
pub(crate) fn count_request(own: &LabelSet, all: &LabelSet, took_ns: u64) {
    let Some(me) = threads::current().map(|it| it.id()) else { return };
    let mut sampler = enter();
    for (ticks, it) in sampler.each() {
        if !ticks.paused && it.scope.is_none() && ticks.profiles(me) && all.has_all(&it.labels) {
            it.requests.record(own, took_ns);
        }
    }
}

/// Returns whether the session has begun and not ended, even if it is paused.
pub(crate) fn is_running(session: SessionId) -> bool {
    enter().find(session).is_some()
}

/// Returns whether the session is paused.
pub(crate) fn is_paused(session: SessionId) -> bool {
    enter().ticks(session).is_some_and(|it| it.paused)
}

/// Ends the sampling of objects in all sessions, or with `heap_alone` in those that track live objects. These
/// keep the objects that are live now. Needs the GVL.
pub(crate) fn give_up_objects(heap_alone: bool, why: &'static str) {
    let mut sampler = enter();
    let Some(hub) = CAPTURE.hub() else { return };
    let Sampler { ticks, collections, .. } = &mut *sampler;
    for ticks in ticks.iter_mut().filter(|it| it.no_objects.is_none()) {
        if ticks.measures.heap || ticks.measures.objects() && !heap_alone {
            ticks.record_live_objects(hub, None);
            ticks.no_objects = Some(why);
            collections
                .iter_mut()
                .filter(|it| it.ticks_of == ticks.id)
                .for_each(|it| it.start.vm_objects = None);
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

/// Returns the threads that a session's result may name, as Ruby lists them with their names.
pub(crate) fn result_threads(
    ruby: &Ruby,
    session: SessionId,
) -> Result<vm::threads::LiveThreads, magnus::Error> {
    let own = threads::current_native_cached().map(|state| state.id());
    let is_own = |id: &ThreadId| Some(*id) == own;
    let names_only_caller = |it: &mut TickRequest| {
        !it.measures.wall && it.threads.as_ref().is_some_and(|ids| ids.iter().all(is_own))
    };
    let only_caller = enter().ticks(session).is_some_and(names_only_caller);
    allocation::as_own_work(|| match only_caller {
        true => vm::threads::only_current(ruby, NameChoice::Included),
        false => vm::threads::list(ruby, NameChoice::Included),
    })
}

/// Returns those of the live threads, with their clocks and labels.
pub(super) fn thread_readings(selected: impl Fn(ThreadId) -> bool) -> Vec<Header> {
    threads::live()
        .filter(|state| selected(state.id()))
        .map(|state| state.now(threads::cpu_ns(state)))
        .collect()
}
