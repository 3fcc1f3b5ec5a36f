//! The machine in a forked child: what is the parent's, and how the sessions go on.

use std::sync::atomic::Ordering;

use profiler_core::ids::ThreadId;
use profiler_core::pipeline::hub::Hub;
use profiler_core::pipeline::SessionId;

use crate::sampler::active::Active;
use crate::sampler::exec;
use crate::sampler::readings::{Start, COLLECTOR_NS};
use crate::sampler::state::Sampler;
use crate::sys::native_thread;

impl Sampler {
    /// In a forked child: those that nobody would ever end, as their blocks are on threads that are not
    /// here. `me` is the thread that forked, as it was called in the parent.
    pub(crate) fn remove_orphans(&mut self, me: i32) -> Vec<SessionId> {
        let is_orphan = |it: &&Active| it.bound_to.is_some_and(|thread| thread != me);
        let orphans: Vec<_> = self.sessions.iter().filter(is_orphan).map(|it| it.id).collect();
        orphans.iter().for_each(|id| drop(self.remove(*id)));
        orphans
    }

    /// In a forked child: the collector thread is the parent's. Its commander is leaked, as dropping it
    /// would touch what that thread may have held. Sessions profile `me`, the thread that forked, if they
    /// profiled it in the parent, where it was `before`, and at no other.
    pub(crate) fn start_over(&mut self, before: Option<ThreadId>, me: Option<ThreadId>) {
        std::mem::forget(self.collector.take());
        COLLECTOR_NS.store(0, Ordering::Relaxed);
        self.starting = 0;
        exec::forget();
        for session in &mut self.sessions {
            session.bound_to = session.bound_to.map(|_| native_thread::native_id());
            let Some(ids) = &mut session.threads else { continue };
            let looked_at = before.is_some_and(|before| ids.contains(&before));
            *ids = me.filter(|_| looked_at).into_iter().collect();
        }
    }

    /// In a forked child: sessions go on, with a collector and timers of their own.
    pub(crate) fn go_on(&mut self, hub: &'static Hub) {
        let start = Start::now(hub);
        for session in &mut self.sessions {
            // A process that is born has used no CPU.
            session.start =
                Start { process_cpu_ns: session.start.process_cpu_ns.map(|_| 0), vm_objects: None, ..start };
            session.markers.clear();
            session.markers_refused = 0;
        }
        if self.sessions.is_empty() {
            return self.settle_down();
        }
        if self.collector(hub).is_err() || self.apply_timers().is_err() {
            // A child that can have no thread or no timer has its time, but no stacks.
            self.sessions.iter_mut().for_each(|it| it.given_up = Some("the forked process got no timer"));
        }
        self.wake();
    }
}
