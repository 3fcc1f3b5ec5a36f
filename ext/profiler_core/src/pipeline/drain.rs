//! The data under the drain lock, and the path of a record from the ring to the sessions.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::ids::{SpanIndex, StackId, ThreadId};
use crate::pipeline::dumps::Dumps;
use crate::pipeline::registry::{ThreadLife, ThreadRegistry};
use crate::profile::Thread;
use crate::record::detail::Detail;
use crate::record::frame::{RawFrame, Synthetic};
use crate::record::ring::Ring;
use crate::record::{Header, Kind, RawRecord, State};
use crate::result::ended_threads::EndedThreads;
use crate::result::named_sums::NamedSums;
use crate::result::part::{distinct, Part};
use crate::result::taken::Taken;
use crate::session::gvl_ticks::{GvlTick, GvlTicks};
use crate::session::key::Key;
use crate::session::labels::LabelSets;
use crate::session::state::SessionState;
use crate::tables::generations::Generations;
use crate::tables::libraries::Libraries;

/// The number of records drained before the lock is released in between.
pub const BATCH: usize = 64;

/// The identifier of a session of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SessionId(pub(crate) u64);

/// An open session.
#[derive(Debug)]
pub(crate) struct OpenSession {
    pub(crate) id: SessionId,
    pub(crate) state: SessionState,
    /// The sums of the session in generations that have been frozen since it began.
    pub(crate) earlier: Earlier,
}

/// The sums of a session in frozen generations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Earlier {
    pub(crate) named: NamedSums,
    /// Parts that have no names yet.
    pub(crate) parts: Vec<Part>,
}

/// The data that the drain lock guards.
#[derive(Debug)]
pub(crate) struct Drain {
    /// The scratch buffer with the current record. Its handles count as live while the lock is held.
    pub(crate) scratch: Vec<u64>,
    pub(crate) ended: Vec<ThreadLife>,
    pub(crate) generations: Generations,
    pub(crate) sessions: Vec<OpenSession>,
    pub(crate) next_session: u64,
    /// Threads that ended while a session ran. Cleared when no session and no result is left.
    pub(crate) ended_threads: EndedThreads,
    /// Ticks that show who held the GVL. Their keys refer to the current tables.
    pub(crate) gvl_ticks: GvlTicks,
    pub(crate) dumps: Dumps,
}

/// The counts of one batch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Drained {
    /// The number of records; less than [`BATCH`] if the ring had no more.
    pub(crate) records: usize,
    /// The number of time samples among them.
    pub(crate) captured: u64,
    /// The number of ticks among them that fell into a GC.
    pub(crate) in_gc: u64,
}

impl Drain {
    /// Takes the threads that have ended out of the registry. Must be called before the ring is read: their
    /// records are in the ring, and are counted before the threads are finished.
    pub(crate) fn take_ended(&mut self, registry: &dyn ThreadRegistry) {
        registry.take_ended(&mut self.ended);
    }

    /// Moves at most [`BATCH`] records from the ring to the sessions.
    pub(crate) fn batch(&mut self, ring: &Ring, sets: &LabelSets) -> Drained {
        let Self { scratch, generations: Generations { current, .. }, sessions, gvl_ticks, dumps, .. } = self;
        let mut drained = Drained::default();
        while drained.records < BATCH && ring.pop(scratch) {
            drained.records += 1;
            let Some(record) = RawRecord::decode(scratch) else { continue };
            if let Kind::Dump { number, has_gvl } = record.kind {
                dumps.add(number, has_gvl, &record);
                continue;
            }
            let stack = if record.kind.has_stack() { current.stacks.intern(&record) } else { None };
            if let Kind::Allocation(allocation) = record.kind {
                current.stacks.note_class(allocation.class);
            }
            drained.captured += u64::from(record.kind.is_sample());
            drained.in_gc += u64::from(matches!(record.kind, Kind::Gc { ticked: true, .. }));
            gvl_tick(&record, stack).into_iter().for_each(|it| gvl_ticks.push(it));
            match record.kind {
                Kind::GvlWait { since_ns } => sessions
                    .iter_mut()
                    .for_each(|it| it.state.blame(&record.header, since_ns, gvl_ticks, sets)),
                Kind::Holder { .. } => {}
                _ => sessions.iter_mut().for_each(|it| it.state.record(&record, stack, sets)),
            }
        }
        scratch.clear();
        drained
    }

    /// Finishes the threads taken by [`Drain::take_ended`].
    pub(crate) fn finish_ended(&mut self) {
        for ended in self.ended.drain(..) {
            for session in &mut self.sessions {
                session.state.finish(&ended.last);
                session.state.forget(ended.last.thread);
            }
            if !self.sessions.is_empty() {
                self.ended_threads.push(ended.last.thread, ended.info);
            }
        }
        self.fold_ended();
    }

    /// Folds threads that have ended into groups if there are many.
    fn fold_ended(&mut self) {
        while self.ended_threads.are_many() && !self.have_events() {
            let folded = self.ended_threads.fold();
            self.gvl_ticks.fold(&folded);
            for OpenSession { state, earlier, .. } in &mut self.sessions {
                state.fold(&folded);
                earlier.named.fold(&folded);
                earlier.parts.iter_mut().for_each(|it| it.fold(&folded));
            }
        }
    }

    /// Returns whether a session has events of a timeline, whose rows have to stay as they are.
    pub(crate) fn have_events(&self) -> bool {
        self.sessions.iter().any(|it| it.state.has_events())
    }

    /// Returns the result of a session whose threads have been finished: its earlier sums and those of
    /// `state`.
    pub(crate) fn result(
        &mut self,
        earlier: Earlier,
        state: SessionState,
        threads: &[ThreadLife],
        sets: &LabelSets,
    ) -> Taken {
        let measures = state.spec().measures;
        let last = Part::take(state.into_aggregate(), &mut self.generations.current, sets);
        let Earlier { named, mut parts } = earlier;
        parts.push(last);
        let alive = threads.iter().map(|it| (it.last.thread, &it.info));
        let infos: HashMap<ThreadId, &Thread, FxBuildHasher> =
            self.ended_threads.iter().chain(alive).collect();
        let result = Taken::new(measures, named, parts, |thread| infos.get(&thread).copied().cloned());
        drop(infos);
        self.fold_ended(); // now, as a session with a timeline that has just been rotated has no events
        result
    }

    /// Returns whether the tables can be renewed, and those of the generation or of the label sets are much
    /// larger than a result needs, which is `needed` handles.
    pub(crate) fn is_outgrown(&self, needed: usize, sets: &LabelSets) -> bool {
        let is_due = self.generations.is_outgrown(needed) || sets.are_many();
        is_due && !self.sessions.is_empty() && !self.have_events()
    }

    /// Returns the handles of the generation at the places of objects that the VM made for code. They last as
    /// names: where one has no name yet, the place is forgotten.
    pub(crate) fn handles_by_name(&self) -> Vec<u64> {
        let keys = self.sessions.iter().flat_map(|it| it.state.live_keys()).filter(|it| is_of_code(it));
        let stacks = distinct(keys.filter_map(|it| it.stack));
        let all = &self.generations.current.stacks;
        distinct(stacks.into_iter().flat_map(|it| all.frames_of(it)).map(RawFrame::handle))
    }

    /// Freezes the generation and starts a new table of label sets. Each session keeps its sums so far as a
    /// part, and continues from the same clocks.
    pub(crate) fn freeze_generation(&mut self, sets: &mut LabelSets) {
        for OpenSession { state, earlier, .. } in &mut self.sessions {
            let sums = state.take_sums();
            if !sums.is_empty() {
                earlier.parts.push(Part::take(sums, &mut self.generations.current, sets));
            }
        }
        self.gvl_ticks.clear();
        let by_name = self.handles_by_name();
        let (sessions, generations) = (&mut self.sessions, &mut self.generations);
        let renew = |sets: &mut LabelSets| {
            generations.freeze(|old, new| {
                let names = new.names.copy_names(&old.names, &by_name);
                let named = |handle| names.get(&handle).copied().or(Synthetic::of(handle).map(|_| handle));
                let mut moved: HashMap<(StackId, bool), Option<StackId>, FxBuildHasher> = HashMap::default();
                let mut rekey = |key: &Key| {
                    key.detail.class().into_iter().for_each(|it| new.stacks.note_class(it));
                    let stack = key.stack.and_then(|it| {
                        let is_of_code = is_of_code(key);
                        *moved.entry((it, is_of_code)).or_insert_with(|| match is_of_code {
                            true => new.stacks.copy_as(&old.stacks, it, named),
                            false => Some(new.stacks.copy(&old.stacks, it).0),
                        })
                    });
                    Key { stack, ..*key }
                };
                sessions.iter_mut().for_each(|it| it.state.rekey(&mut rekey, sets));
            })
        };
        sets.replace(renew);
    }
}

/// Returns whether the live object or block may be one that the VM made for code. Code keeps such objects alive,
/// so the code at the place of their allocation would keep itself alive for ever.
fn is_of_code(key: &Key) -> bool {
    key.detail.class().is_some_and(|class| {
        let of_others = class.library_number().is_some_and(|it| it != Libraries::RUBY);
        class.handle().is_none() && !of_others
    })
}

/// Returns the record as a tick on the holder of the GVL, if its thread held the GVL.
fn gvl_tick(record: &RawRecord<'_>, stack: Option<StackId>) -> Option<GvlTick> {
    let header = &record.header;
    let since_tick_ns = match record.kind {
        Kind::Tick if header.state == State::Running => 0,
        Kind::Block { .. } => 0,
        Kind::Gc { ticked: true, since_tick_ns, .. } | Kind::Holder { since_tick_ns, .. } => since_tick_ns,
        _ => return None,
    };
    let Header { thread, labels, .. } = *header;
    // The waiting thread is in another span.
    let (span, detail) = (SpanIndex::NONE, Detail::None);
    let state = if matches!(record.kind, Kind::Block { .. }) { State::Blocked } else { State::Running };
    let key = Key { stack, thread, labels, span, state, detail };
    Some(GvlTick { at_ns: header.monotonic_ns.saturating_sub(since_tick_ns), key })
}
