//! The sampler in a forked child: it drops what is the parent's and continues the sessions.

use std::sync::atomic::Ordering;

use profiler_core::ids::ThreadId;
use profiler_core::pipeline::hub::Hub;
use profiler_core::pipeline::SessionId;
use profiler_core::profile::Requests;

use crate::sampler::active::Active;
use crate::sampler::cumulative::Cumulative;
use crate::sampler::exec;
use crate::sampler::markers::Markers;
use crate::sampler::readings::{Start, COLLECTOR_NS};
use crate::sampler::slice::Slice;
use crate::sampler::state::Sampler;
use crate::sys::native_thread;

impl Sampler {
    /// Removes, in a forked child, the sessions that nobody would ever stop: their blocks are on threads that the child
    /// does not have. `me` is the native id that the thread that forked had in the parent.
    pub(crate) fn remove_orphans(&mut self, me: i32) -> Vec<SessionId> {
        let slices = std::mem::take(&mut self.slices);
        let (own, others): (Vec<Slice>, Vec<Slice>) = slices.into_iter().partition(|it| it.bound_to == me);
        let is_orphan = |it: &&Active| {
            it.bound_to.is_some_and(|thread| thread != me)
                || it.is_sliced && !own.iter().any(|slice| slice.of == it.id)
        };
        let orphans: Vec<_> = self.sessions.iter().filter(is_orphan).map(|it| it.id).collect();
        orphans.iter().for_each(|id| drop(self.remove(*id)));
        self.slices = own;
        orphans.into_iter().chain(others.into_iter().map(|it| it.id)).collect()
    }

    /// Resets the sampler in a forked child, as the collector thread is the parent's. The handle of that thread is leaked:
    /// dropping it would touch what the thread may have held. A session for certain threads profiles `me`, the thread that
    /// forked, if it profiled it in the parent, where its id was `before`. It profiles no other thread.
    pub(crate) fn start_over(&mut self, before: Option<ThreadId>, me: Option<ThreadId>) {
        std::mem::forget(self.collector.take());
        self.inherited = Cumulative::now();
        COLLECTOR_NS.store(0, Ordering::Relaxed);
        self.starting = 0;
        exec::forget();
        self.slices.iter_mut().for_each(|it| it.bound_to = native_thread::native_id());
        for session in &mut self.sessions {
            session.ends_with_slices |= session.is_sliced;
            session.bound_to = session.bound_to.map(|_| native_thread::native_id());
            let Some(ids) = &mut session.threads else { continue };
            let profiled = before.is_some_and(|before| ids.contains(&before));
            *ids = me.filter(|_| profiled).into_iter().collect();
        }
    }

    /// Continues the sessions in a forked child, with a collector and timers of the child's own.
    pub(crate) fn continue_sessions(&mut self, hub: &'static Hub) {
        let start = Start::now(hub);
        self.govern_child();
        for session in &mut self.sessions {
            // A new process has used no CPU time.
            session.start =
                Start { process_cpu_ns: session.start.process_cpu_ns.map(|_| 0), vm_objects: None, ..start };
            session.cpu_waits = session.cpu_waits.of_child();
            session.markers = Markers::default();
            session.requests = Requests::default();
            session.windows = session.windows.map(|it| it.next(start.monotonic_ns));
            session.widest_ns = session.interval_ns;
        }
        for slice in &mut self.slices {
            (slice.start, slice.markers) = (start, Markers::default());
        }
        if self.sessions.is_empty() {
            return self.reconcile();
        }
        if self.collector(hub).is_err() || self.apply_timers().is_err() {
            // A child that gets no thread or no timer reports its time, but no stacks.
            self.sessions.iter_mut().for_each(|it| it.given_up = Some("the forked process got no timer"));
        }
        self.wake();
    }
}
