//! The hub of a process: the ring, the counters, and the drain lock with all that it guards.
//!
//! The holder of the drain lock is the only consumer of the ring. It is the collector thread, a session that
//! stops, or the GC when it marks. It holds the lock for at most [`BATCH`] records at a time. Meanwhile it
//! never parks, never waits for the GVL, never calls the VM and never allocates a Ruby object. The reason is
//! that a GC that starts on another thread waits for this very lock in its mark function.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::ids::LabelSetId;
use crate::pipeline::drain::{Drain, Earlier, OpenSession, SessionId, BATCH};
use crate::pipeline::dumps::Dumps;
use crate::pipeline::registry::{ThreadLife, ThreadRegistry};
use crate::profile::LabelSet;
use crate::record::counters::{add, Counters};
use crate::record::ring::Ring;
use crate::record::Header;
use crate::result::ended_threads::EndedThreads;
use crate::sampling::live_objects::LiveObject;
use crate::session::gvl_ticks::GvlTicks;
use crate::session::labels::LabelSets;
use crate::session::spec::SessionSpec;
use crate::session::state::SessionState;
use crate::tables::block_names::BlockNames;
use crate::tables::generations::Generations;

mod dump;
mod fork;
mod marking;
mod pending;
mod results;
mod space;
pub use fork::ForkGuard;
pub use pending::Pending;

/// The words of the scratch buffer: the length of the longest possible record, so that draining never
/// allocates for it.
const SCRATCH_WORDS: usize = 16 * 1024;

/// The longest wait for a producer in the middle of a record.
const PATIENCE: Duration = Duration::from_millis(500);
/// The pause between two checks for such a record.
const PAUSE: Duration = Duration::from_micros(50);

/// The meeting place of the producers, the sessions, the GC and the collector thread. Created once and never
/// freed, so that a signal that arrives too late finds it.
#[derive(Debug)]
pub struct Hub {
    /// The ring of records that wait to be drained.
    pub ring: Ring,
    /// The counters of what became of each tick.
    pub counters: Counters,
    /// Whether the collector sleeps until it is woken: see [`Hub::has_enough_for_collector`].
    pub collector_sleeps: AtomicBool,
    /// The names for records of memory.
    pub blocks: BlockNames,
    drain: Mutex<Drain>,
    /// The label sets. Locked after the drain lock, or without it.
    labels: Mutex<LabelSets>,
    /// The number of label-set tables before the current one.
    labels_table: AtomicU64,
    /// The position of a record that was never published and is no longer waited for.
    ///
    /// The record is not skipped. Nothing tells a producer that is gone from a slow one, which still writes into its
    /// space. If that space were reused, another record would get words of the first one among its handles,
    /// and the GC marks these. What happens instead is bounded: once the ring is full, later records are
    /// dropped and counted, until a forked child starts over. Between the claim and the publication a
    /// producer only stores words. So only a signal handler that jumps out of it could leave such a record
    /// behind, and Ruby has none.
    given_up: AtomicU64,
}

impl Hub {
    /// Creates a hub with a ring of `ring_words` words of 8 bytes.
    #[must_use]
    pub fn new(ring_words: usize) -> Self {
        Self {
            ring: Ring::with_capacity(ring_words),
            counters: Counters::new(),
            collector_sleeps: AtomicBool::new(false),
            blocks: BlockNames::default(),
            drain: Mutex::new(Drain {
                scratch: Vec::with_capacity(SCRATCH_WORDS),
                ended: Vec::new(),
                generations: Generations::default(),
                sessions: Vec::new(),
                next_session: 0,
                ended_threads: EndedThreads::default(),
                gvl_ticks: GvlTicks::default(),
                dumps: Dumps::default(),
            }),
            labels: Mutex::default(),
            labels_table: AtomicU64::new(0),
            given_up: AtomicU64::new(u64::MAX),
        }
    }

    /// Opens a session at `started_ns` on the monotonic clock. `threads` are those that exist, listed before
    /// this call. A thread that ended before this call is settled first and does not belong to the session.
    pub fn open(
        &self,
        spec: SessionSpec,
        registry: &dyn ThreadRegistry,
        started_ns: u64,
        threads: &[Header],
    ) -> SessionId {
        let id = self.new_session();
        self.open_as(id, spec, registry, started_ns, threads);
        id
    }

    /// Returns the id of a session that is opened later, by [`Hub::open_as`].
    pub fn new_session(&self) -> SessionId {
        let mut drain = self.lock();
        let id = SessionId(drain.next_session);
        drain.next_session += 1;
        id
    }

    /// Opens the session with that id. The other arguments are as for [`Hub::open`].
    pub fn open_as(
        &self,
        id: SessionId,
        spec: SessionSpec,
        registry: &dyn ThreadRegistry,
        started_ns: u64,
        threads: &[Header],
    ) {
        self.catch_up(registry);
        let state = SessionState::new(spec, started_ns, threads, &self.labels());
        self.lock().sessions.push(OpenSession { id, state, earlier: Earlier::default() });
    }

    /// Moves at most [`BATCH`] records from the ring to the sessions. Returns false when it found no more.
    pub fn drain_batch(&self, registry: &dyn ThreadRegistry) -> bool {
        let mut drain = self.lock();
        drain.take_ended(registry);
        // The last records of these threads are before `end`. They may be behind a record that is not
        // published yet.
        let end = self.ring.newest();
        let drained = drain.batch(&self.ring, &self.labels());
        add(&self.counters.captured, drained.captured);
        add(&self.counters.captured_in_gc, drained.in_gc);
        if self.ring.oldest() >= end {
            drain.finish_ended();
        }
        drained.records == BATCH
    }

    /// Moves all records that were begun before this call to the sessions. A session that starts or ends
    /// afterwards therefore has all of them or none, for good.
    ///
    /// A producer can lose its CPU in the middle of a record, which hides all records behind it. The producer
    /// is waited for, as it needs nothing from us. But a jump out of a signal handler would leave a record
    /// that is never published. So the wait is limited, and happens only once for each such record.
    fn catch_up(&self, registry: &dyn ThreadRegistry) {
        let (end, begun) = (self.ring.newest(), Instant::now());
        loop {
            while self.drain_batch(registry) {}
            let at = self.ring.oldest();
            if at >= end || at == self.given_up.load(Ordering::Relaxed) {
                return;
            }
            if begun.elapsed() > PATIENCE {
                return self.given_up.store(at, Ordering::Relaxed);
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Replaces the live objects for the session's next result with `live`, as they are after this number of
    /// garbage collections.
    pub fn note_live(
        &self,
        session: SessionId,
        registry: &dyn ThreadRegistry,
        live: &[LiveObject],
        collections: u64,
    ) {
        self.catch_up(registry);
        if let Some(running) = self.lock().sessions.iter_mut().find(|it| it.id == session) {
            running.state.note_live(live, collections);
        }
    }

    /// Pauses or resumes the recording of objects in the session.
    pub fn set_objects_paused(&self, session: SessionId, registry: &dyn ThreadRegistry, paused: bool) {
        self.catch_up(registry);
        if let Some(running) = self.lock().sessions.iter_mut().find(|it| it.id == session) {
            running.state.set_objects_paused(paused);
        }
    }

    /// Pauses the session until [`Hub::resume`]. `threads` is as for [`Hub::take`].
    pub fn pause(&self, session: SessionId, registry: &dyn ThreadRegistry, threads: &[ThreadLife]) {
        self.finish_and(session, registry, threads, SessionState::pause);
    }

    /// Ends what the next result of the session covers: it records no more until [`Hub::resume`]. `threads` is
    /// as for [`Hub::take`].
    pub fn settle(&self, session: SessionId, registry: &dyn ThreadRegistry, threads: &[ThreadLife]) {
        self.finish_and(session, registry, threads, SessionState::settle);
    }

    /// Finishes the threads of a session, and changes its state.
    fn finish_and(
        &self,
        session: SessionId,
        registry: &dyn ThreadRegistry,
        threads: &[ThreadLife],
        change: impl FnOnce(&mut SessionState),
    ) {
        self.catch_up(registry);
        let mut drain = self.lock();
        if let Some(running) = drain.sessions.iter_mut().find(|it| it.id == session) {
            finish(&mut running.state, threads);
            change(&mut running.state);
        }
    }

    /// Resumes the session. The arguments are as for [`Hub::open`].
    pub fn resume(
        &self,
        session: SessionId,
        registry: &dyn ThreadRegistry,
        started_ns: u64,
        threads: &[Header],
    ) {
        self.catch_up(registry);
        let mut drain = self.lock();
        if let Some(running) = drain.sessions.iter_mut().find(|it| it.id == session) {
            running.state.resume(started_ns, threads, &self.labels());
        }
    }

    /// Freezes generations at this number of handles from now on, instead of the usual one. For tests.
    pub fn freeze_at(&self, handles: usize) {
        self.lock().generations.many = handles;
    }

    /// Returns the number of ended threads, and of groups of them, that are kept. For tests.
    #[must_use]
    pub fn ended_threads(&self) -> usize {
        self.lock().ended_threads.iter().count()
    }

    /// Returns the number of words that the records in the ring take.
    #[must_use]
    pub fn fill(&self) -> usize {
        self.ring.fill()
    }

    fn lock(&self) -> MutexGuard<'_, Drain> {
        // A panic under the lock is a bug of the profiler, but the GC has to get in all the same.
        self.drain.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn labels(&self) -> MutexGuard<'_, LabelSets> {
        self.labels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the id of a label set on the fiber with the number `fiber`, which is 0 if no session needs it.
    /// The id is valid for the table whose number is returned with it, and in records until the table after
    /// the next one.
    #[must_use]
    pub fn intern_labels(&self, set: &LabelSet, fiber: u32) -> (u64, LabelSetId) {
        let mut labels = self.labels();
        (self.labels_table(), labels.intern(set, fiber))
    }

    /// Returns the number of the current table of label sets.
    #[must_use]
    pub fn labels_table(&self) -> u64 {
        self.labels_table.load(Ordering::Relaxed) // ids and numbers are read together under the lock
    }

    /// Returns the label set of an id, if the id is not too old.
    #[must_use]
    pub fn labels_of(&self, id: LabelSetId) -> LabelSet {
        let labels = self.labels();
        labels.get(labels.plain(id)).clone()
    }

    /// Returns the number of label sets beyond those that are kept apart, since the first session.
    #[must_use]
    pub fn labels_refused(&self) -> u64 {
        self.labels().refused()
    }
}

/// Finishes these threads in a session.
fn finish(state: &mut SessionState, threads: &[ThreadLife]) {
    threads.iter().for_each(|it| state.finish(&it.last));
}
