//! The sampler in a forked child: it drops what belongs to the parent and continues the sessions.

use std::sync::atomic::Ordering;

use profiler_core::ids::ThreadId;
use profiler_core::pipeline::hub::Hub;
use profiler_core::pipeline::SessionId;
use profiler_core::profile::Requests;
use profiler_core::session::spec::keep_forked;

use crate::sampler::collection::Collection;
use crate::sampler::cumulative::Cumulative;
use crate::sampler::exec;
use crate::sampler::markers::Markers;
use crate::sampler::readings::{ProcessReadings, COLLECTOR_NS};
use crate::sampler::state::Sampler;
use crate::sys::native_thread;

impl Sampler {
    /// Removes, in a forked child, the sessions that no thread would ever stop: their blocks are on threads
    /// that the child does not have. `me` is the native id that the thread that forked had in the parent.
    pub(crate) fn remove_orphans(&mut self, me: i32) -> Vec<SessionId> {
        let is_elsewhere = |it: &&Collection| it.bound_to.is_some_and(|thread| thread != me);
        let mut orphans: Vec<_> = self.collections.iter().filter(is_elsewhere).map(|it| it.id).collect();
        orphans.extend(self.sliced_by_none_but(&orphans));
        for id in &orphans {
            if self.remove(*id).is_none() {
                self.remove_collection(*id);
            }
        }
        orphans
    }

    /// Resets the sampler in a forked child, as the collector thread is the parent's. The handle of that
    /// thread is leaked: dropping it would touch memory that the thread may have been using. `before` and
    /// `me` are as for [`keep_forked`].
    pub(crate) fn start_over(&mut self, before: Option<ThreadId>, me: Option<ThreadId>) {
        std::mem::forget(self.collector.take());
        self.inherited = Cumulative::now();
        COLLECTOR_NS.store(0, Ordering::Relaxed);
        self.starting = 0;
        exec::forget();
        for collection in &mut self.collections {
            collection.bound_to = collection.bound_to.map(|_| native_thread::native_id());
        }
        for ticks in &mut self.ticks {
            ticks.refuse_slices();
            if let Some(threads) = &mut ticks.threads {
                keep_forked(threads, before, me);
            }
        }
    }

    /// Continues the sessions in a forked child, with a collector and timers of the child's own.
    pub(crate) fn continue_sessions(&mut self, hub: &'static Hub) {
        let start = ProcessReadings::now(hub);
        self.govern_child();
        for ticks in &mut self.ticks {
            ticks.rotate(&start, ticks.cpu_waits.of_child());
        }
        for (ticks, collection) in self.each() {
            // A new process has used no CPU time.
            let process_cpu_ns = collection.start.process_cpu_ns.map(|_| 0);
            collection.start = ProcessReadings { process_cpu_ns, vm_objects: None, ..start };
            collection.pauses = collection.pauses.since(start.monotonic_ns);
            collection.markers = Markers::default();
            collection.requests = Requests::default();
            collection.widest_ns = ticks.interval_ns;
        }
        if self.ticks.is_empty() {
            return self.reconcile();
        }
        let collected = !self.has_samples() || self.collector(hub).is_ok();
        if !collected || self.apply_timers().is_err() {
            // A child that gets no thread or no timer reports its time, but no stacks.
            self.ticks.iter_mut().for_each(|it| it.given_up = Some("the forked process got no timer"));
        }
        self.wake();
    }
}
