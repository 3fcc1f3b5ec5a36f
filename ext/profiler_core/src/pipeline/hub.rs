//! The hub of a process: the ring, the counters, and the drain lock with all that it guards.
//!
//! The holder of the drain lock is the only consumer of the ring. It is the collector thread, a session that
//! stops, or the GC when it marks. It holds the lock for at most [`BATCH`] records at a time. Meanwhile it
//! never parks, never waits for the GVL, never calls the VM and never allocates a Ruby object. The reason
//! is that a GC that starts on another thread waits in its mark function for this very lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::pipeline::drain::{Drain, Earlier, Session, SessionId, BATCH};
use crate::pipeline::ended_threads::EndedThreads;
use crate::pipeline::generations::{Generation, Generations};
use crate::pipeline::registry::{ThreadLife, ThreadRegistry};
use crate::pipeline::unresolved::Unresolved;
use crate::profile::{Function, Profile};
use crate::record::counters::{add, Counters};
use crate::record::ring::Ring;
use crate::record::RawRecord;
use crate::sampling::live_objects::LiveObject;
use crate::session::labels::LabelSets;
use crate::session::spec::SessionSpec;
use crate::session::state::{SessionState, ThreadNow};

mod fork;
mod labels;
mod pending;
pub use fork::ForkGuard;
pub use pending::Pending;

/// Words of the scratch buffer: the longest record that can be, so that draining never allocates for it.
const SCRATCH_WORDS: usize = 16 * 1024;

/// The meeting place of producers, sessions, GC and collector thread. It is created once and never freed,
/// so that a signal that comes too late finds it.
#[derive(Debug)]
pub struct Hub {
    /// The ring in which records wait.
    pub ring: Ring,
    /// The fates of all ticks.
    pub counters: Counters,
    drain: Mutex<Drain>,
    /// The sets of labels. Taken after the drain lock, or alone.
    labels: Mutex<LabelSets>,
    /// The number of tables of sets of labels before this one.
    labels_table: AtomicU64,
}

impl Hub {
    /// A hub with a ring of `ring_words` words of 8 bytes.
    #[must_use]
    pub fn new(ring_words: usize) -> Self {
        Self {
            ring: Ring::with_capacity(ring_words),
            counters: Counters::new(),
            drain: Mutex::new(Drain {
                scratch: Vec::with_capacity(SCRATCH_WORDS),
                ended: Vec::new(),
                generations: Generations::default(),
                sessions: Vec::new(),
                next_session: 0,
                ended_threads: EndedThreads::default(),
            }),
            labels: Mutex::default(),
            labels_table: AtomicU64::new(0),
        }
    }

    /// Opens a session at `started_ns` on the monotonic clock. `threads` are those that exist, listed before
    /// this call. A thread that ended before that is settled first, and does not belong to this session.
    pub fn open(
        &self,
        spec: SessionSpec,
        registry: &dyn ThreadRegistry,
        started_ns: u64,
        threads: &[ThreadNow],
    ) -> SessionId {
        while self.drain_batch(registry) {}
        let state = SessionState::new(spec, started_ns, threads, &self.labels());
        let mut drain = self.lock();
        let id = SessionId(drain.next_session);
        drain.next_session += 1;
        drain.sessions.push(Session { id, state, earlier: Earlier::default() });
        id
    }

    /// Moves at most [`BATCH`] records from the ring to the sessions. False when it found no more.
    pub fn drain_batch(&self, registry: &dyn ThreadRegistry) -> bool {
        let mut drain = self.lock();
        drain.take_ended(registry);
        let drained = drain.batch(&self.ring, &self.labels());
        add(&self.counters.captured, drained.captured);
        add(&self.counters.captured_in_gc, drained.in_gc);
        let more = drained.records == BATCH;
        if !more {
            drain.finish_ended();
        }
        more
    }

    /// Drains the ring, finishes `threads` (those alive, with their CPU clocks read before this call),
    /// and takes the session out. `None` when it is not open.
    pub fn close(
        &self,
        session: SessionId,
        registry: &dyn ThreadRegistry,
        threads: &[ThreadLife],
    ) -> Option<Unresolved> {
        self.take(session, registry, threads, |drain, place| {
            let Session { mut state, earlier, .. } = drain.sessions.swap_remove(place);
            finish(&mut state, threads);
            Some((earlier, state))
        })
    }

    /// The result of the session since it was opened or last rotated. It goes on from the same clocks, at `now_ns` on the
    /// monotonic clock. `threads` as for [`Hub::close`].
    pub fn rotate(
        &self,
        session: SessionId,
        registry: &dyn ThreadRegistry,
        threads: &[ThreadLife],
        now_ns: u64,
    ) -> Option<Unresolved> {
        self.take(session, registry, threads, |drain, place| {
            let Session { state, earlier, .. } = drain.sessions.get_mut(place)?;
            finish(state, threads);
            Some((std::mem::take(earlier), state.rotate(now_ns)))
        })
    }

    /// Replaces the live objects for what the session gives next: these, after that number of garbage collections.
    pub fn note_live(
        &self,
        session: SessionId,
        registry: &dyn ThreadRegistry,
        live: &[LiveObject],
        collections: u64,
    ) {
        while self.drain_batch(registry) {}
        if let Some(it) = self.lock().sessions.iter_mut().find(|it| it.id == session) {
            it.state.note_live(live, collections);
        }
    }

    /// The result of the session as if it were closed now. It runs on.
    pub fn snapshot(
        &self,
        session: SessionId,
        registry: &dyn ThreadRegistry,
        threads: &[ThreadLife],
    ) -> Option<Unresolved> {
        self.take(session, registry, threads, |drain, place| {
            let Session { state, earlier, .. } = drain.sessions.get(place)?;
            let (mut copy, earlier) = (state.clone(), earlier.clone());
            finish(&mut copy, threads);
            for part in &earlier.parts {
                // The copy requests names too.
                let _ = drain.generations.find(part.generation).map(Generation::enter);
            }
            Some((earlier, copy))
        })
    }

    fn take(
        &self,
        session: SessionId,
        registry: &dyn ThreadRegistry,
        threads: &[ThreadLife],
        finished: impl FnOnce(&mut Drain, usize) -> Option<(Earlier, SessionState)>,
    ) -> Option<Unresolved> {
        while self.drain_batch(registry) {}
        let mut drain = self.lock();
        let place = drain.sessions.iter().position(|it| it.id == session)?;
        let (earlier, state) = finished(&mut drain, place)?;
        let (result, turned_over) = drain.result(earlier, state, threads, &mut self.labels());
        if turned_over {
            self.labels_table.fetch_add(1, Ordering::Relaxed);
        }
        Some(result)
    }

    /// Pauses the session until [`Hub::resume`]. `threads` as for [`Hub::close`].
    pub fn pause(&self, session: SessionId, registry: &dyn ThreadRegistry, threads: &[ThreadLife]) {
        while self.drain_batch(registry) {}
        let mut drain = self.lock();
        if let Some(it) = drain.sessions.iter_mut().find(|it| it.id == session) {
            finish(&mut it.state, threads);
            it.state.pause();
        }
    }

    /// Resumes the session. Arguments as for [`Hub::open`].
    pub fn resume(
        &self,
        session: SessionId,
        registry: &dyn ThreadRegistry,
        started_ns: u64,
        threads: &[ThreadNow],
    ) {
        while self.drain_batch(registry) {}
        let mut drain = self.lock();
        if let Some(it) = drain.sessions.iter_mut().find(|it| it.id == session) {
            it.state.resume(started_ns, threads, &self.labels());
        }
    }

    /// Resolves the result of a session with the names that it requested, in the order of [`Unresolved::unknown`]. All
    /// handles are released when no session and no other result is left.
    pub fn resolve(&self, unresolved: Unresolved, names: Vec<(u64, Function)>) -> Profile {
        let mut drain = self.lock();
        let resolved = unresolved.resolve(&mut drain.generations, names);
        self.end_if_unused(&mut drain);
        drop(drain);
        resolved.finish()
    }

    /// Releases the result of a session. Nothing is named.
    pub fn forget(&self, unresolved: Unresolved) {
        let mut drain = self.lock();
        unresolved.forget(&mut drain.generations);
        self.end_if_unused(&mut drain);
    }

    /// Takes a session out and forgets it. Nothing is named. Sets of labels may have new ids then.
    pub fn discard(&self, session: SessionId) {
        let mut drain = self.lock();
        if let Some(place) = drain.sessions.iter().position(|it| it.id == session) {
            let Earlier { parts, .. } = drain.sessions.swap_remove(place).earlier;
            parts.iter().for_each(|it| drain.generations.leave(it.generation));
            self.end_if_unused(&mut drain);
            // Where sessions are discarded all the time, no result may ever be taken.
            if drain.turn_over_if_due(0, &mut self.labels()) {
                self.labels_table.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Freezes generations at that number of handles from now on, in place of the usual one. For tests.
    pub fn freeze_at(&self, handles: usize) {
        self.lock().generations.many = handles;
    }

    /// Marks every handle that anybody may still ask about: in the frame table, in the scratch buffer, and in the
    /// ring. For the mark function of the GC, which must see to it that no handler is in the middle of a record.
    pub fn each_live_handle(&self, mut mark: impl FnMut(u64)) {
        let mut drain = self.lock();
        drain.generations.handles().for_each(&mut mark);
        let scratch = &mut drain.scratch;
        let mut at = self.ring.oldest();
        while let Some(next) = self.ring.peek(at, scratch) {
            RawRecord::decode(scratch).iter().flat_map(RawRecord::handles).for_each(&mut mark);
            at = next;
        }
        scratch.clear();
    }

    /// The number of threads that ended and are kept, and of their groups. For tests.
    #[must_use]
    pub fn ended_threads(&self) -> usize {
        self.lock().ended_threads.iter().count()
    }

    /// The number of words that the records in the ring take.
    #[must_use]
    pub fn fill(&self) -> usize {
        self.ring.fill()
    }

    fn lock(&self) -> MutexGuard<'_, Drain> {
        // A panic under the lock is a bug of ours; the GC has to get in all the same.
        self.drain.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn labels(&self) -> MutexGuard<'_, LabelSets> {
        self.labels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets everything if neither a session nor a result is left.
    fn end_if_unused(&self, drain: &mut Drain) {
        if drain.sessions.is_empty() && !drain.generations.have_users() {
            drain.generations.start_over();
            drain.ended_threads = EndedThreads::default();
            self.labels().clear();
            self.labels_table.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Finishes these threads in a session.
fn finish(state: &mut SessionState, threads: &[ThreadLife]) {
    threads.iter().for_each(|it| state.finish(&it.last));
}
