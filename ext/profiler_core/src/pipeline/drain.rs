//! The data under the drain lock, and the way of a record from the ring to the sessions.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::ids::{SpanIndex, StackId, ThreadId};
use crate::pipeline::dumps::Dumps;
use crate::pipeline::registry::{ThreadLife, ThreadRegistry};
use crate::profile::Thread;
use crate::record::detail::Detail;
use crate::record::ring::Ring;
use crate::record::{Header, Kind, RawRecord, State};
use crate::result::ended_threads::EndedThreads;
use crate::result::named_sums::NamedSums;
use crate::result::part::Part;
use crate::result::taken::Taken;
use crate::session::gvl_ticks::{GvlTick, GvlTicks};
use crate::session::key::Key;
use crate::session::labels::LabelSets;
use crate::session::state::SessionState;
use crate::tables::generations::Generations;

/// Records drained before the lock is released in between.
pub const BATCH: usize = 64;

/// Identifies a session of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SessionId(pub(crate) u64);

/// A session that is open.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: SessionId,
    pub(crate) state: SessionState,
    /// Its sums of generations that were frozen since.
    pub(crate) earlier: Earlier,
}

/// The sums of a session in generations that are frozen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Earlier {
    pub(crate) named: NamedSums,
    /// The parts that have no names yet.
    pub(crate) parts: Vec<Part>,
}

/// All that the drain lock guards.
#[derive(Debug)]
pub(crate) struct Drain {
    /// The scratch buffer: the record at hand. Its handles count as live while the lock is held.
    pub(crate) scratch: Vec<u64>,
    pub(crate) ended: Vec<ThreadLife>,
    pub(crate) generations: Generations,
    pub(crate) sessions: Vec<Session>,
    pub(crate) next_session: u64,
    /// Threads that ended while a session ran; cleared when no session and no result is left.
    pub(crate) ended_threads: EndedThreads,
    /// The ticks that tell who had the GVL. Their keys are of the present tables.
    pub(crate) gvl_ticks: GvlTicks,
    pub(crate) dumps: Dumps,
}

/// The numbers of a batch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Drained {
    /// Records; less than [`BATCH`] when there was no more.
    pub(crate) records: usize,
    /// Samples of time among them.
    pub(crate) captured: u64,
    /// Ticks that fell into a GC among them.
    pub(crate) in_gc: u64,
}

impl Drain {
    /// Takes the threads that have ended out of the registry. Call it before the ring is read: their
    /// records are in it, and are counted before they are finished.
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

    /// Finishes the threads that [`Drain::take_ended`] took.
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

    /// Folds threads that have ended, if there are many.
    fn fold_ended(&mut self) {
        while self.ended_threads.are_many() && !self.have_events() {
            let folded = self.ended_threads.fold();
            self.gvl_ticks.fold(&folded);
            for Session { state, earlier, .. } in &mut self.sessions {
                state.fold(&folded);
                earlier.named.fold(&folded);
                earlier.parts.iter_mut().for_each(|it| it.fold(&folded));
            }
        }
    }

    /// Whether a session has events of a timeline, whose rows have to stay as they are.
    pub(crate) fn have_events(&self) -> bool {
        self.sessions.iter().any(|it| it.state.has_events())
    }

    /// The result of a session whose threads have been finished: the earlier sums, and those of `state`.
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

    /// Whether the tables of the generation, or of sets of labels, are much larger than what a result needs, which is `needed`
    /// handles, and can be renewed.
    pub(crate) fn is_outgrown(&self, needed: usize, sets: &LabelSets) -> bool {
        let is_due = self.generations.is_outgrown(needed) || sets.are_many();
        is_due && !self.sessions.is_empty() && !self.have_events()
    }

    /// Freezes the generation, and begins a table of sets of labels. Each session keeps what it has summed up as a part, and goes
    /// on from the same clocks.
    pub(crate) fn turn_over(&mut self, sets: &mut LabelSets) {
        for Session { state, earlier, .. } in &mut self.sessions {
            let sums = state.take_sums();
            if !sums.is_empty() {
                earlier.parts.push(Part::take(sums, &mut self.generations.current, sets));
            }
        }
        self.gvl_ticks.clear();
        let (sessions, generations) = (&mut self.sessions, &mut self.generations);
        let renew = |sets: &mut LabelSets| {
            generations.freeze(|old, new| {
                let mut moved: HashMap<StackId, StackId, FxBuildHasher> = HashMap::default();
                let mut rekey = |key: &Key| {
                    let mut place = key.stack;
                    if let Detail::Allocated(class) | Detail::Live(class, _) = key.detail {
                        new.note_class(class);
                        // Code holds what the VM made for it, and the place of that would hold the code for ever.
                        place = place.filter(|_| class.handle().is_some());
                    }
                    let stack = place.map(|it| *moved.entry(it).or_insert_with(|| new.copy(old, it).0));
                    Key { stack, ..*key }
                };
                sessions.iter_mut().for_each(|it| it.state.rekey(&mut rekey, sets));
            })
        };
        sets.replace(renew);
    }
}

/// The tick that a record is, if its thread had the GVL.
fn gvl_tick(record: &RawRecord<'_>, stack: Option<StackId>) -> Option<GvlTick> {
    let header = &record.header;
    let since_tick_ns = match record.kind {
        Kind::Tick if header.state == State::Running => 0,
        Kind::Block { .. } => 0,
        Kind::Gc { ticked: true, since_tick_ns, .. } | Kind::Holder { since_tick_ns, .. } => since_tick_ns,
        _ => return None,
    };
    let Header { thread, labels, .. } = *header;
    // Who waits is in another span.
    let (span, detail) = (SpanIndex::NONE, Detail::None);
    let state = if matches!(record.kind, Kind::Block { .. }) { State::Blocked } else { State::Running };
    let key = Key { stack, thread, labels, span, state, detail };
    Some(GvlTick { at_ns: header.monotonic_ns.saturating_sub(since_tick_ns), key })
}
