//! The state of a session: which records belong to it, and their sums.
//!
//! A label switch record has no weight. In a session that selects labels or a scope, it opens a thread's
//! account, or settles and closes it. Other sessions ignore it. A session with a scope sees everything that
//! is in the scope, on any thread; `Session#join` determines which threads tick.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::ids::{LabelSetId, ScopeId, StackId, ThreadId};
use crate::record::{Header, Kind, RawRecord};
use crate::sampling::live_objects::LiveObject;
use crate::session::aggregate::Aggregate;
use crate::session::gvl_ticks::{GvlTick, GvlTicks};
use crate::session::key::Key;
use crate::session::labels::LabelSets;
use crate::session::recorder::Recorder;
use crate::session::spans::Spans;
use crate::session::spec::{keep_forked, SessionSpec};

/// The state of a session: its definition and its sums.
#[derive(Clone, Debug)]
pub struct SessionState {
    spec: SessionSpec,
    paused: bool,
    /// Whether the session is settled: see [`SessionState::settle`].
    settled: bool,
    /// Whether the session currently records no objects.
    objects_paused: bool,
    /// A cache of whether a label set has all labels that the session selects.
    matches: HashMap<LabelSetId, bool, FxBuildHasher>,
    aggregate: Aggregate,
}

impl SessionState {
    /// Starts a session at `started_ns` on the monotonic clock; `threads` are those that exist.
    pub fn new(spec: SessionSpec, started_ns: u64, threads: &[Header], sets: &LabelSets) -> Self {
        let aggregate = aggregate(&spec, started_ns);
        let (paused, settled, objects_paused) = (false, false, false);
        let matches = HashMap::default();
        let mut state = Self { spec, paused, settled, objects_paused, matches, aggregate };
        state.resume(started_ns, threads, sets);
        state
    }

    /// Returns the definition of the session.
    #[must_use]
    pub fn spec(&self) -> &SessionSpec {
        &self.spec
    }

    /// Adds a record if it belongs to the session.
    pub fn record(&mut self, record: &RawRecord<'_>, stack: Option<StackId>, sets: &LabelSets) {
        let mut header = record.header;
        header.labels = self.labels(header.labels, sets);
        let header = &header;
        if !self.is_recording() || !self.spec.has_thread(header.thread) {
            return;
        }
        if let Kind::Allocation(_) | Kind::Malloc(_) = record.kind {
            // Allocation records carry no time, so they never change whether the thread is inside.
            if !self.objects_paused && self.inside(header.labels, header.scope, sets) {
                self.aggregate.allocate(record.kind, header, stack);
            }
            return;
        }
        if !self.spec.is_unrestricted() {
            let inside = self.inside(header.labels, header.scope, sets);
            // A tick switches as well, because the switch record before it may be missing.
            self.aggregate.switch(header, inside);
            if !inside {
                return;
            }
        }
        self.aggregate.record(record.kind, header, stack);
    }

    /// Blames the ticks that fell into a wait for the GVL: the wait of the thread of `header`, since
    /// `since_ns` on the monotonic clock.
    pub fn blame(&mut self, header: &Header, since_ns: u64, ticks: &GvlTicks, sets: &LabelSets) {
        let header = Header { labels: self.labels(header.labels, sets), ..*header };
        let ours = self.spec.measures.wall && self.is_recording() && self.spec.has_thread(header.thread);
        if !ours || !self.inside(header.labels, header.scope, sets) || !self.aggregate.counts(&header) {
            return;
        }
        let (fibers, ticks) = (self.spec.fibers, ticks.between(since_ns, header.monotonic_ns));
        let labels = |id| if fibers { id } else { sets.plain(id) };
        let ticks = ticks.map(|it| GvlTick { key: Key { labels: labels(it.key.labels), ..it.key }, ..*it });
        self.aggregate.blame(&header, ticks);
    }

    /// Finishes a thread whose clocks stand at `last`: attributes the rest of its time.
    pub fn finish(&mut self, last: &Header) {
        if self.is_recording() && self.spec.has_thread(last.thread) {
            self.aggregate.finish(last);
        }
    }

    /// Takes the sums so far as a separate session, once all threads have been finished: see
    /// [`Aggregate::rotate`].
    #[must_use]
    pub fn rotate(&mut self, now_ns: u64) -> Self {
        let aggregate = self.aggregate.rotate(now_ns);
        Self { spec: self.spec.clone(), matches: HashMap::default(), aggregate, ..*self }
    }

    /// Forgets a thread that has ended and was finished.
    pub fn forget(&mut self, thread: ThreadId) {
        self.aggregate.forget(thread);
    }

    /// Sums the rows of ended threads under the ids of their groups.
    pub fn fold(&mut self, ids: &HashMap<ThreadId, ThreadId, FxBuildHasher>) {
        self.aggregate.fold(ids);
    }

    /// Takes the sums so far, before their stacks get new ids: see [`Aggregate::take_sums`].
    #[must_use]
    pub fn take_sums(&mut self) -> Aggregate {
        self.aggregate.take_sums()
    }

    /// Renews the ids of the stacks and labels that later sums may refer to: see [`Aggregate::rekey`].
    pub fn rekey(&mut self, mut new: impl FnMut(&Key) -> Key, sets: &mut LabelSets) {
        self.matches.clear();
        self.aggregate.relabel(|id| sets.renew(id));
        self.aggregate.rekey(|key| Key { labels: sets.renew(key.labels), ..new(key) });
    }

    /// Iterates over the keys of the objects that were live when it last counted.
    pub(crate) fn live_keys(&self) -> impl Iterator<Item = &Key> {
        self.aggregate.live_keys()
    }

    /// Returns whether there is a timeline that refers to stacks.
    #[must_use]
    pub fn has_events(&self) -> bool {
        self.aggregate.recorder.as_ref().is_some_and(|it| !it.is_empty())
    }

    /// Pauses or resumes the recording of objects.
    pub fn set_objects_paused(&mut self, paused: bool) {
        self.objects_paused = paused;
    }

    /// Pauses the session. Its threads must have been finished.
    pub fn pause(&mut self) {
        self.paused = true;
    }

    /// Stops recording until [`SessionState::resume`], because the session's result is about to be taken. Its
    /// threads must have been finished. A forked child, where nobody takes the result, records again.
    pub fn settle(&mut self) {
        self.settled = true;
    }

    fn is_recording(&self) -> bool {
        !self.paused && !self.settled
    }

    /// Resumes the session at `started_ns` on the monotonic clock; `threads` are those that exist.
    pub fn resume(&mut self, started_ns: u64, threads: &[Header], sets: &LabelSets) {
        (self.paused, self.settled) = (false, false);
        let mut seen = Vec::new();
        for now in threads {
            if self.spec.has_thread(now.thread) {
                let inside = self.inside(now.labels, now.scope, sets);
                seen.push((Header { labels: self.labels(now.labels, sets), ..*now }, inside));
            }
        }
        self.aggregate.resume(started_ns, seen);
    }

    /// Starts over in a forked child: see [`crate::pipeline::hub::ForkGuard::start_over`].
    pub fn start_over(
        &mut self,
        started_ns: u64,
        before: Option<ThreadId>,
        me: Option<Header>,
        sets: &LabelSets,
    ) {
        if let Some(threads) = &mut self.spec.threads {
            keep_forked(threads, before, me.map(|it| it.thread));
        }
        self.aggregate = aggregate(&self.spec, started_ns);
        self.settled = false;
        if !self.paused {
            self.resume(started_ns, me.as_slice(), sets);
        }
    }

    /// Replaces the live objects with `live`, as they are after this number of garbage collections.
    pub fn note_live(&mut self, live: &[LiveObject], collections: u64) {
        let all = self.spec.threads.is_none() && self.spec.is_unrestricted();
        self.aggregate.note_live(live, collections, all);
    }

    /// Returns the sums of the session.
    #[must_use]
    pub fn into_aggregate(self) -> Aggregate {
        self.aggregate
    }

    fn labels(&self, id: LabelSetId, sets: &LabelSets) -> LabelSetId {
        if self.spec.fibers {
            id
        } else {
            sets.plain(id)
        }
    }

    fn inside(&mut self, labels: LabelSetId, scope: ScopeId, sets: &LabelSets) -> bool {
        if self.spec.scope.is_some_and(|required| required != scope) {
            return false;
        }
        let required = &self.spec.labels;
        required.is_empty()
            || *self.matches.entry(labels).or_insert_with(|| sets.get(labels).has_all(required))
    }
}

fn aggregate(spec: &SessionSpec, started_ns: u64) -> Aggregate {
    let mut aggregate = Aggregate::new(spec.measures, started_ns, spec.is_unrestricted(), []);
    aggregate.recorder = spec.timeline.then(|| Box::new(Recorder::new(spec.measures, started_ns)));
    aggregate.spans = spec.spans.then(Spans::default);
    aggregate
}
