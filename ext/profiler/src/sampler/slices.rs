//! Slices: single scopes of a running session, each with a result of its own.
//!
//! A slice starts no timers and no hooks, as its session has them, and lists no threads. So its start and its
//! end are cheap enough for every request. To the hub it is a session with a scope. Its session ticks on the
//! threads that began slices.
//!
//! Beginning and discarding a slice takes under 1 us, where a session takes 6 to 12. The session of the
//! slices keeps no samples itself, since no thread enters its own scope. It ticks only on these threads, as
//! ticks on others would only cost time, and interrupt their waits. It ends when no request began for a
//! second, or when a session with another engine starts between two requests. One that is given up, and one
//! that a forked child continues, ends with its last slice. A child has the slices of the thread that forked.
//!
//! Requests for a profile, and `sample_rate:`, still start sessions: their intervals are finer than all
//! requests should pay for. So do objects, whose hook has its overhead whether or not any thread is inside a
//! scope.

use magnus::{Error, Ruby};
use profiler_core::ids::ScopeId;
use profiler_core::pipeline::hub::Hub;
use profiler_core::pipeline::SessionId;
use profiler_core::session::spec::SessionSpec;

use crate::options::Config;
use crate::sampler::begin::join;
use crate::sampler::collection::Collection;
use crate::sampler::fork::enter;
use crate::sampler::readings::ProcessReadings;
use crate::sampler::state::Sampler;
use crate::sampler::tick_request::TickRequest;
use crate::shared::CAPTURE;
use crate::sys::native_thread;
use crate::threads::{self, Registry};

/// Begins a slice of a session with these options. The session profiles this thread from now on. Returns
/// `None` if the session no longer records.
///
/// # Errors
/// Exceptions that were delivered while Ruby was asked: no slice has begun then.
pub(crate) fn begin_slice(
    ruby: &Ruby,
    of: SessionId,
    config: &Config,
    scope: ScopeId,
) -> Result<Option<SessionId>, Error> {
    let Some(hub) = CAPTURE.hub() else { return Ok(None) };
    let me = threads::current().map(|it| it.id());
    let is_profiled = enter().ticks(of).is_some_and(|it| me.is_some_and(|me| it.profiles(me)));
    if !is_profiled {
        join(ruby, of)?;
    }
    let mut sampler = enter();
    let governor = sampler.governor;
    let Some(ticks) = sampler.ticks(of).filter(|it| !it.paused && !it.ends_with_slices) else {
        return Ok(None);
    };
    let (start, widest_ns) = (ProcessReadings::now(hub), ticks.ticks_each_ns(&governor));
    // No thread is inside a new scope, so none has to be listed.
    let id = hub.open(
        SessionSpec { scope: Some(scope), ..config.spec.clone() },
        &Registry,
        start.monotonic_ns,
        &[],
    );
    sampler.collections.push(Collection {
        scope: Some(scope),
        // A forked child has the slices of the thread that forked.
        bound_to: Some(native_thread::cached_native_id()),
        ..Collection::new(id, of, start, widest_ns)
    });
    Ok(Some(id))
}

/// Ends the session if no slice of it is open. Returns whether the session is over.
pub(crate) fn end_unless_sliced(session: SessionId) -> bool {
    let mut sampler = enter();
    let Some(hub) = CAPTURE.hub() else { return true };
    if sampler.has_slices(session) {
        return false;
    }
    sampler.discard(session, hub);
    true
}

impl TickRequest {
    /// Lets these ticks end with their last slice, if they exist only for slices.
    pub(super) fn refuse_slices(&mut self) {
        self.ends_with_slices |= self.is_sliced;
    }
}

impl Sampler {
    /// Returns the open slices of a session.
    pub(super) fn slices_of(&self, session: SessionId) -> impl Iterator<Item = SessionId> + '_ {
        self.collections.iter().filter(move |it| it.ticks_of == session && it.is_slice()).map(|it| it.id)
    }

    /// Returns the sessions that have samples only in slices, and no slices except these.
    pub(super) fn sliced_by_none_but(&self, these: &[SessionId]) -> Vec<SessionId> {
        let only_these =
            |it: &&TickRequest| it.is_sliced && self.slices_of(it.id).all(|it| these.contains(&it));
        self.ticks.iter().filter(only_these).map(|it| it.id).collect()
    }

    /// Returns whether a slice of the session is open.
    pub(super) fn has_slices(&self, session: SessionId) -> bool {
        self.slices_of(session).next().is_some()
    }

    /// Ends the session if it must end with its last slice, and has none.
    pub(super) fn end_with_slices(&mut self, session: SessionId, hub: &Hub) {
        if !self.has_slices(session) && self.ticks(session).is_some_and(|it| it.ends_with_slices) {
            self.discard(session, hub);
        }
    }

    /// Discards the open slices of a session.
    pub(super) fn discard_slices_of(&mut self, session: SessionId, hub: &Hub) {
        for slice in self.slices_of(session).collect::<Vec<_>>() {
            self.remove_collection(slice);
            hub.discard(slice);
        }
    }

    /// Ends the parent session with its last slice. Called when a slice was garbage collected, so no owner is
    /// left to end the session.
    pub(super) fn abandon_slice(&mut self, id: SessionId) {
        if let Some((ticks, _)) = self.find(id).filter(|(_, it)| it.is_slice()) {
            ticks.ends_with_slices = true;
        }
    }

    /// Ends sessions that wait for slices, if one with another engine is about to start.
    pub(super) fn end_idle_sessions(&mut self, config: &Config, hub: &Hub) {
        if config.spec.measures.timed() && config.engine != self.engine {
            let waiting = self.ticks.iter().filter(|it| it.is_sliced && !self.has_slices(it.id));
            let waiting: Vec<SessionId> = waiting.map(|it| it.id).collect();
            waiting.into_iter().for_each(|it| self.discard(it, hub));
        }
    }
}
