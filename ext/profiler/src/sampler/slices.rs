//! Slices: single scopes of a running session, each with a result of its own.
//!
//! A slice starts no timers and no hooks, as its session has them, and lists no threads. So its begin and its end are cheap
//! enough for every request. To the hub it is a session with a scope.

use profiler_core::ids::ScopeId;
use profiler_core::pipeline::hub::Hub;
use profiler_core::pipeline::SessionId;

use crate::labels;
use crate::options::Config;
use crate::sampler::begin::spec;
use crate::sampler::fork::enter;
use crate::sampler::markers::Markers;
use crate::sampler::readings::Start;
use crate::sampler::session_result::SessionResult;
use crate::sampler::slice::Slice;
use crate::sampler::state::Sampler;
use crate::shared::CAPTURE;
use crate::sys::native_thread;
use crate::threads::Registry;
use crate::vm::threads::RubyThread;

/// Begins a slice of a session with these options. Nothing if the session records no more.
pub(crate) fn begin_slice(of: SessionId, config: &Config, scope: ScopeId) -> Option<SessionId> {
    let hub = CAPTURE.hub()?;
    let mut sampler = enter();
    sampler.find(of).filter(|it| !it.paused)?;
    let start = Start::now(hub);
    // No thread is inside a scope that is new, so none has to be listed.
    let id = hub.open(spec(config, None, Some(scope)), &Registry, start.monotonic_ns, &[]);
    let bound_to = native_thread::cached_native_id();
    sampler.slices.push(Slice { id, of, scope, bound_to, start, markers: Markers::default() });
    Some(id)
}

/// Ends the session if no slice of it is open. Whether it is over.
pub(crate) fn end_unless_sliced(session: SessionId) -> bool {
    let mut sampler = enter();
    let Some(hub) = CAPTURE.hub() else { return true };
    if sampler.slices.iter().any(|it| it.of == session) {
        return false;
    }
    sampler.discard(session, hub);
    true
}

impl Slice {
    /// Takes its result. Nothing if its session is over.
    pub(super) fn stop(
        self,
        sampler: &mut Sampler,
        hub: &Hub,
        named: &[RubyThread],
    ) -> Option<SessionResult> {
        let (engine, governor) = (sampler.engine, sampler.governor);
        let active = sampler.find(self.of)?;
        active.record_open_waits(hub, named, Some(self.scope));
        let lives = active.thread_lives(named);
        let unresolved = hub.close(self.id, &Registry, &lives)?;
        labels::renew(hub);
        let widest_ns = active.ticks_each_ns(&governor);
        let markers = self.markers;
        Some(SessionResult {
            start: self.start,
            widest_ns,
            markers,
            ..active.result(unresolved, engine, hub, (0, 0))
        })
    }
}

impl Sampler {
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
