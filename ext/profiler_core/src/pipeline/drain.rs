//! What the drain lock guards, and how a record gets from the ring to the sessions.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::ids::ThreadId;
use crate::pipeline::hub::{Closed, Hub, SessionId, ThreadLife, ThreadRegistry, BATCH};
use crate::pipeline::name_cache::NameCache;
use crate::pipeline::stacks::Stacks;
use crate::pipeline::unnamed::Unnamed;
use crate::profile::Thread;
use crate::record::counters::add;
use crate::record::{Kind, RawRecord};
use crate::session::labels::LabelSets;
use crate::session::state::SessionState;

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: SessionId,
    pub(crate) state: SessionState,
}

/// Frames and names live as long as the sessions of their epoch: then the handles are let go.
#[derive(Debug, Default)]
pub(crate) struct Epoch {
    pub(crate) stacks: Stacks,
    pub(crate) names: NameCache,
    /// Sessions that may still ask for names.
    pub(crate) users: usize,
}

/// All that the drain lock guards.
#[derive(Debug)]
pub(crate) struct Drain {
    /// The record in hand. Its handles count as live while the lock is held.
    pub(crate) hand: Vec<u64>,
    pub(crate) ended: Vec<ThreadLife>,
    pub(crate) epoch: Epoch,
    pub(crate) sessions: Vec<Session>,
    pub(crate) next_session: u64,
    /// Threads that ended while a session ran; cleared with the epoch.
    pub(crate) dead_threads: Vec<(ThreadId, Thread)>,
}

impl Drain {
    pub(crate) fn batch(&mut self, hub: &Hub, registry: &dyn ThreadRegistry) -> bool {
        // Before the ring is read: what these threads recorded is in it, and is counted before
        // they are settled.
        registry.take_ended(&mut self.ended);
        let Self { hand, epoch, sessions, .. } = self;
        let sets = hub.labels();
        let (mut drained, mut captured, mut in_gc) = (0, 0, 0);
        while drained < BATCH && hub.ring.pop(hand) {
            drained += 1;
            let Some(record) = RawRecord::decode(hand) else { continue };
            let stack = if record.kind.has_stack() { epoch.stacks.intern(&record) } else { None };
            if let Kind::Allocation(allocation) = record.kind {
                epoch.stacks.note_class(allocation.class);
            }
            captured += u64::from(record.kind.is_sample());
            in_gc += u64::from(matches!(record.kind, Kind::Gc { ticked: true, .. }));
            sessions.iter_mut().for_each(|it| it.state.record(&record, stack, &sets));
        }
        drop(sets);
        hand.clear();
        add(&hub.counters.captured, captured);
        add(&hub.counters.captured_in_gc, in_gc);
        let more = drained == BATCH;
        if !more {
            self.finish_ended();
        }
        more
    }

    fn finish_ended(&mut self) {
        for ended in self.ended.drain(..) {
            for session in &mut self.sessions {
                session.state.finish(&ended.last);
                session.state.forget(ended.last.thread);
            }
            if !self.sessions.is_empty() {
                self.dead_threads.push((ended.last.thread, ended.info));
            }
        }
    }

    /// Everything of a state but names. Stays in the epoch.
    pub(crate) fn extract(
        &mut self,
        mut state: SessionState,
        threads: &[ThreadLife],
        sets: &LabelSets,
    ) -> Closed {
        threads.iter().for_each(|it| state.finish(&it.last));
        let alive = threads.iter().map(|it| (it.last.thread, &it.info));
        let dead = self.dead_threads.iter().map(|(thread, info)| (*thread, info));
        let infos: HashMap<ThreadId, &Thread, FxBuildHasher> = dead.chain(alive).collect();
        let info = |thread: ThreadId| infos.get(&thread).copied().cloned();
        let measures = state.spec().measures;
        let unnamed = Unnamed::extract(measures, state.into_aggregate(), &self.epoch.stacks, info, sets);
        let mut unknown = self.epoch.names.unknown(unnamed.handles());
        unknown.extend(self.epoch.names.unknown(unnamed.classes()));
        Closed { unnamed, unknown }
    }
}
