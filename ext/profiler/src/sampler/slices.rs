//! Slices: single scopes of a running session, each with a result of its own.
//!
//! A slice starts no timers and no hooks, as its session has them, and lists no threads. So its begin and its end are cheap
//! enough for every request. To the hub it is a session with a scope. Its session ticks on the threads that began slices.

use magnus::{Error, Ruby};
use profiler_core::ids::ScopeId;
use profiler_core::pipeline::hub::Hub;
use profiler_core::pipeline::SessionId;
use profiler_core::profile::Requests;
use profiler_core::result::taken::Take;

use crate::options::Config;
use crate::sampler::begin::{join, spec};
use crate::sampler::fork::enter;
use crate::sampler::markers::Markers;
use crate::sampler::readings::Start;
use crate::sampler::session_result::{Facts, SessionResult};
use crate::sampler::slice::Slice;
use crate::sampler::state::Sampler;
use crate::sampler::tables;
use crate::shared::CAPTURE;
use crate::sys::native_thread;
use crate::threads::{self, Registry};
use crate::vm::threads::RubyThread;

/// Begins a slice of a session with these options. Its session profiles this thread from now on. `None` if the session records no
/// more.
///
/// # Errors
/// Exceptions that were delivered while Ruby was asked: nothing has begun then.
pub(crate) fn begin_slice(
    ruby: &Ruby,
    of: SessionId,
    config: &Config,
    scope: ScopeId,
) -> Result<Option<SessionId>, Error> {
    let Some(hub) = CAPTURE.hub() else { return Ok(None) };
    let me = threads::current().map(|it| it.id());
    let is_profiled = enter().find(of).is_some_and(|it| me.is_some_and(|me| it.profiles(me)));
    if !is_profiled {
        join(ruby, of)?;
    }
    let mut sampler = enter();
    let governor = sampler.governor;
    let Some(active) = sampler.find(of).filter(|it| !it.paused && !it.ends_with_slices) else {
        return Ok(None);
    };
    let (start, widest_ns) = (Start::now(hub), active.ticks_each_ns(&governor));
    // No thread is inside a scope that is new, so none has to be listed.
    let id = hub.open(spec(config, None, Some(scope)), &Registry, start.monotonic_ns, &[]);
    let bound_to = native_thread::cached_native_id();
    let markers = Markers::default();
    sampler.slices.push(Slice { id, of, scope, bound_to, start, widest_ns, markers });
    Ok(Some(id))
}

/// Ends the session if no slice of it is open. Whether it is over.
pub(crate) fn end_unless_sliced(session: SessionId) -> bool {
    let mut sampler = enter();
    let Some(hub) = CAPTURE.hub() else { return true };
    if sampler.has_slices(session) {
        return false;
    }
    sampler.discard(session, hub);
    true
}

impl Slice {
    /// Takes its result. `None` if its session is over.
    pub(super) fn stop(
        self,
        sampler: &mut Sampler,
        hub: &'static Hub,
        named: &[RubyThread],
    ) -> Option<SessionResult> {
        let engine = sampler.engine;
        let active = sampler.find(self.of)?;
        active.record_open_waits(hub, named, Some(self.scope));
        let lives = active.thread_lives(named);
        let sums = hub.take(self.id, &Registry, &lives, Take::Close, 0)?;
        let Self { of, start, widest_ns, markers, .. } = self;
        let all = active.result(sums, engine, hub, (0, 0));
        sampler.end_with_slices(of, hub);
        let requests = Requests::default(); // a slice is of one
        Some(SessionResult { facts: Facts { start, widest_ns, markers, requests, ..all.facts }, ..all })
    }
}

impl Sampler {
    /// Whether a slice of the session is open.
    pub(super) fn has_slices(&self, session: SessionId) -> bool {
        self.slices.iter().any(|it| it.of == session)
    }

    /// Ends the session if it is to end with its last slice, and has none.
    fn end_with_slices(&mut self, session: SessionId, hub: &Hub) {
        if !self.has_slices(session) && self.find(session).is_some_and(|it| it.ends_with_slices) {
            self.discard(session, hub);
        }
    }

    /// Discards a slice. False if there is none.
    pub(super) fn discard_slice(&mut self, id: SessionId, hub: &Hub) -> bool {
        let Some(slice) = self.remove_slice(id) else { return false };
        hub.discard(id);
        tables::renew(hub, 0);
        self.end_with_slices(slice.of, hub);
        true
    }

    /// Has the session of a slice end with its slices: the slice was lost on the way to who would have ended it, so nobody may
    /// end the session.
    pub(super) fn abandon_slice(&mut self, id: SessionId) {
        let of = self.slices.iter().find(|it| it.id == id).map(|it| it.of);
        if let Some(active) = of.and_then(|of| self.find(of)) {
            active.ends_with_slices = true;
        }
    }

    /// Ends sessions that wait for slices, if one with another engine is about to start.
    pub(super) fn make_way(&mut self, config: &Config, hub: &Hub) {
        if config.measures.timed() && config.engine != self.engine {
            let waiting = self.sessions.iter().filter(|it| it.is_sliced && !self.has_slices(it.id));
            let waiting: Vec<SessionId> = waiting.map(|it| it.id).collect();
            waiting.into_iter().for_each(|it| self.discard(it, hub));
        }
    }

    pub(super) fn remove_slice(&mut self, id: SessionId) -> Option<Slice> {
        let place = self.slices.iter().position(|it| it.id == id)?;
        Some(self.slices.swap_remove(place))
    }

    /// Removes the slices of a session that has ended. They are to be discarded in the hub.
    pub(super) fn remove_slices_of(&mut self, session: SessionId) -> Vec<SessionId> {
        let (over, others) = std::mem::take(&mut self.slices).into_iter().partition(|it| it.of == session);
        self.slices = others;
        let over: Vec<Slice> = over;
        over.into_iter().map(|it| it.id).collect()
    }
}
