//! The hub across a fork.

use std::sync::atomic::Ordering;
use std::sync::MutexGuard;

use super::Hub;
use crate::ids::ThreadId;
use crate::pipeline::drain::{Drain, Earlier, SessionId};
use crate::record::Header;
use crate::result::ended_threads::EndedThreads;
use crate::session::labels::LabelSets;

impl Hub {
    /// Holds the drain lock across a fork, so that the child does not inherit it from a thread that it does
    /// not have.
    pub fn before_fork(&self) -> ForkGuard<'_> {
        ForkGuard { hub: self, drain: self.lock(), labels: self.labels() }
    }
}

/// The locks that are held while a process forks.
#[derive(Debug)]
pub struct ForkGuard<'hub> {
    hub: &'hub Hub,
    drain: MutexGuard<'hub, Drain>,
    labels: MutexGuard<'hub, LabelSets>,
}

impl ForkGuard<'_> {
    /// Starts over in the child: the records and sums so far belong to the parent. The sessions continue here
    /// with only `me`, the thread that forked and that was `before` in the parent, with the labels that it
    /// had. `me` is `None` if no session profiled it. The sessions in `orphans` end here.
    pub fn start_over(
        mut self,
        started_ns: u64,
        orphans: &[SessionId],
        before: Option<ThreadId>,
        me: Option<Header>,
    ) {
        self.hub.ring.forget();
        self.hub.collector_sleeps.store(false, Ordering::Relaxed);
        let drain = &mut *self.drain;
        drain.scratch.clear();
        drain.ended.clear();
        drain.ended_threads = EndedThreads::default();
        drain.gvl_ticks.clear();
        drain.dumps.clear();
        drain.sessions.retain(|it| !orphans.contains(&it.id));
        drain.generations.start_over();
        for session in &mut drain.sessions {
            session.earlier = Earlier::default();
            session.state.start_over(started_ns, before, me, &self.labels);
        }
    }
}
