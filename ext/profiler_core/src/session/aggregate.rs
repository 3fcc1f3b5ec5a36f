//! The sums of a session so far: weights by stack, thread, labels and state.
//!
//! Law 1 is implemented here. For each thread, a session keeps the clocks up to which it has attributed every
//! nanosecond to a stack: the CPU clock and, if the session measures wall clock time, the parts of the wall
//! clock. A record advances the clocks of its kind, and its own stack gets the differences. When the thread
//! ends or the session closes, the rest goes to the last stack that had time of that kind, or to
//! `(unsampled)` if there is none. Blocked time that is older than the last record goes to `(unsampled)` as
//! well. So the sums of a thread always equal the thread's own clocks.
//!
//! A session that selects labels or a scope counts a thread only while it is inside: from the switch that
//! sets them to the one that removes them.
//!
//! Clocks are absolute, and differences are computed here. So the time of a dropped tick is carried without
//! further work, and sessions with different intervals read the same records. A pause finishes every thread,
//! and the account continues at the clocks of `resume`. The time left when a thread leaves the session's
//! labels goes to its last stack under these labels, or to `(unsampled)`.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::ids::{SpanIndex, StackId, ThreadId};
use crate::record::detail::Detail;
use crate::record::{Header, Kind, State};
use crate::session::key::{Key, RowSums};
use crate::session::recorder::Recorder;
use crate::session::spans::Spans;
use crate::session::spec::Measures;

mod account;
mod blame;
mod objects;
mod off_cpu;
mod turnover;
use account::{forward, Account};
use objects::SessionObjects;

/// The sums of one session, with an account for each thread.
#[derive(Clone, Debug)]
pub struct Aggregate {
    measures: Measures,
    /// The start on the monotonic clock, before any pause.
    began_ns: u64,
    /// The start, or the end of the last pause.
    started_ns: u64,
    /// Whether the time of a thread that starts during the session counts from its start.
    starts_inside: bool,
    weights: HashMap<Key, RowSums, FxBuildHasher>,
    accounts: HashMap<ThreadId, Account, FxBuildHasher>,
    /// The recorder of the timeline, if the session keeps one.
    pub(crate) recorder: Option<Box<Recorder>>,
    /// The monotonic clock of the record being counted, ns.
    now_ns: u64,
    objects: SessionObjects,
    /// The spans of the rows, if the session keeps them apart.
    pub(crate) spans: Option<Spans>,
}

impl Aggregate {
    /// Creates the aggregate of a session that starts at `started_ns` on the monotonic clock, with the
    /// threads that exist then, and whether their time counts from then on. Other threads count from their
    /// start if `starts_inside`, otherwise from where they enter the session's labels or scope.
    pub fn new(
        measures: Measures,
        started_ns: u64,
        starts_inside: bool,
        threads: impl IntoIterator<Item = (Header, bool)>,
    ) -> Self {
        let (weights, accounts) = (HashMap::default(), HashMap::default());
        let (recorder, now_ns) = (None, started_ns);
        let (objects, spans) = (SessionObjects::default(), None);
        let mut new = Self {
            objects,
            measures,
            began_ns: started_ns,
            started_ns,
            starts_inside,
            weights,
            accounts,
            recorder,
            now_ns,
            spans,
        };
        new.resume(started_ns, threads);
        new
    }

    /// Resumes at `started_ns` after a pause, with the threads that exist then. Time that a thread spent
    /// during the pause is not counted.
    pub fn resume(&mut self, started_ns: u64, threads: impl IntoIterator<Item = (Header, bool)>) {
        self.started_ns = started_ns;
        let before = std::mem::take(&mut self.accounts);
        let account = |(now, inside): (Header, bool)| {
            let Header { thread, cpu_ns, walls, runnable_ns, labels, .. } = now;
            let before = before.get(&thread).copied();
            let before = before.unwrap_or_else(|| Account::at(cpu_ns, walls, runnable_ns));
            (thread, Account { inside, labels, ..before.resumed(cpu_ns, walls, runnable_ns) })
        };
        self.accounts = threads.into_iter().map(account).collect();
    }

    /// Moves the thread of `header` into the session's labels and scope, or out of them.
    pub fn switch(&mut self, header: &Header, inside: bool) {
        let stays_outside = !inside && !self.starts_inside && !self.accounts.contains_key(&header.thread);
        if header.monotonic_ns < self.started_ns || stays_outside {
            return;
        }
        let account = self.account(header);
        match (account.inside, inside) {
            (true, true) => account.labels = header.labels,
            (false, true) => {
                account.labels = header.labels;
                account.inside = true;
                account.skip_to(header.cpu_ns, &header.walls, header.runnable_ns);
            }
            (true, false) => {
                self.finish(header);
                self.account(header).inside = false;
            }
            (false, false) => {}
        }
    }

    /// Adds a record, unless it is from before the start or of a kind that the session does not measure.
    pub fn record(&mut self, kind: Kind, header: &Header, stack: Option<StackId>) {
        let Measures { cpu, wall, runnable, .. } = self.measures;
        let ours = match kind {
            // While the thread does not hold the GVL, a tick says nothing about the wall clock.
            Kind::Tick => cpu || wall && header.state != State::Waiting,
            Kind::Wait | Kind::WaitExtension | Kind::Block { .. } | Kind::GvlFree => wall,
            Kind::Gc { ticked, .. } => wall || cpu && ticked,
            _ => false, // the kinds without a weight, which the match below names
        };
        if header.monotonic_ns < self.started_ns || !ours {
            return;
        }
        self.now_ns = header.monotonic_ns;
        let (thread, labels, starts_inside) = (header.thread, header.labels, self.starts_inside);
        let span = self.span(header);
        let key = |state| Key { stack, thread, labels, span, state, detail: Detail::None };
        let account = self.account(header);
        let mut blocked_ns = 0;
        if runnable && matches!(header.state, State::Running | State::Gc | State::Blocked) {
            blocked_ns = account.off_cpu.compare(header.cpu_ns, &header.walls, header.runnable_ns);
        }
        let (attributed, now) = (&mut account.walls, &header.walls);
        let attributed_cpu_ns = header.cpu_ns.saturating_sub(header.deferred_cpu_ns);
        match kind {
            Kind::LabelSwitch
            | Kind::Allocation(_)
            | Kind::Malloc(_)
            | Kind::GvlWait { .. }
            | Kind::Holder { .. }
            | Kind::Dump { .. } => {}
            Kind::Tick => {
                let key = key(header.state);
                let cpu_ns = forward(&mut account.cpu_ns, attributed_cpu_ns);
                account.last = Some(key);
                // Only running is sampled. The other parts are measured and arrive with records of their own.
                let mut ran_ns = 0;
                if header.state == State::Running {
                    ran_ns = forward(&mut attributed.running_ns, now.running_ns);
                    account.last_ran = Some(key);
                }
                let wall_ns = account.off_cpu.split(ran_ns);
                let runnable_ns = account.off_cpu.take_runnable();
                self.weigh(key, RowSums { count: 1, cpu_ns, wall_ns, ..RowSums::default() });
                self.weigh_runnable(key, runnable_ns);
            }
            Kind::Block { whole_us, seen_us } => {
                let key = key(State::Blocked);
                let wall_ns = match runnable {
                    true => account.off_cpu.take_block(
                        blocked_ns,
                        u64::from(whole_us) * 1_000,
                        u64::from(seen_us) * 1_000,
                    ),
                    // Where waits are sampled, a block counts as one of them.
                    false => forward(&mut attributed.waiting_ns, now.waiting_ns),
                };
                // The thread waited for a CPU where it was blocked.
                let runnable_ns = account.off_cpu.take_runnable();
                account.last_block = Some(key);
                self.weigh(key, RowSums { count: 1, wall_ns, ..RowSums::default() });
                self.weigh_runnable(key, runnable_ns);
            }
            Kind::Wait => {
                let waiting_ns = forward(&mut attributed.waiting_ns, now.waiting_ns);
                let gvl_ns = forward(&mut attributed.gvl_ns, now.gvl_ns);
                account.last_wait = Some(key(State::Waiting));
                // A record counts once, in the state that took most of its time.
                let count = u64::from(waiting_ns >= gvl_ns);
                self.weigh(key(State::Waiting), RowSums { count, wall_ns: waiting_ns, ..RowSums::default() });
                self.weigh(
                    key(State::Gvl),
                    RowSums { count: 1 - count, wall_ns: gvl_ns, ..RowSums::default() },
                );
            }
            Kind::WaitExtension => {
                // If no stack is known, or it has other labels, the time is kept for the next wait.
                let labels = account.labels;
                if let Some(key) = account.last_wait.filter(|key| starts_inside || key.labels == labels) {
                    let wall_ns = forward(&mut attributed.waiting_ns, now.waiting_ns);
                    self.weigh(key, RowSums { wall_ns, ..RowSums::default() });
                }
            }
            Kind::Gc { ticked, cause, .. } => {
                let key = Key { detail: Detail::Gc(cause), ..key(State::Gc) };
                let wall_ns = forward(&mut attributed.gc_ns, now.gc_ns);
                let runnable_ns = account.off_cpu.take_runnable_in_gc();
                let mut cpu_ns = 0;
                if ticked {
                    cpu_ns = forward(&mut account.cpu_ns, attributed_cpu_ns);
                    account.last = Some(key);
                }
                account.last_gc = Some(key);
                self.weigh(key, RowSums { count: 1, cpu_ns, wall_ns, ..RowSums::default() });
                self.weigh_runnable(key, runnable_ns);
            }
            Kind::GvlFree => self.blame_nobody(header, stack),
        }
    }

    fn weigh(&mut self, key: Key, more: RowSums) {
        if more == RowSums::default() {
            return;
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.add(self.now_ns, key, &more);
        }
        self.weights.entry(key).or_default().add(&more);
    }

    /// Adds time without a CPU to the row that otherwise equals `key`.
    fn weigh_runnable(&mut self, key: Key, wall_ns: u64) {
        self.weigh(Key { state: State::Runnable, ..key }, RowSums { wall_ns, ..RowSums::default() });
    }

    /// Finishes a thread whose clocks stand at `last`: attributes the rest of each kind to the stack that
    /// last had time of that kind, or to none.
    pub fn finish(&mut self, last: &Header) {
        if !self.measures.timed() {
            return;
        }
        let (starts_inside, Measures { wall, runnable, .. }) = (self.starts_inside, self.measures);
        self.now_ns = last.monotonic_ns;
        let thread = last.thread;
        let account = self.account(last);
        if !account.inside {
            return;
        }
        let labels = account.labels;
        // The rest under these labels must not go to a stack with other labels.
        let fits = |key: &Key| starts_inside || key.labels == labels;
        let span = SpanIndex::NONE;
        let nowhere = |state| Key { stack: None, thread, labels, span, state, detail: Detail::None };
        let like =
            |key: Option<Key>, state| key.filter(fits).map_or(nowhere(state), |key| Key { state, ..key });
        let ticked = account.last.filter(fits).unwrap_or(nowhere(State::Running));
        let mut since_last_ns = 0;
        if runnable {
            since_last_ns = account.off_cpu.compare(last.cpu_ns, &last.walls, last.runnable_ns);
        }
        let (cpu_ns, rest) = account.take_rest(last.cpu_ns, &last.walls);
        let running_ns = account.off_cpu.split(rest.running_ns);
        let mut runnable_in_gc_ns = 0;
        if account.last_gc.is_some_and(|key| fits(&key)) {
            runnable_in_gc_ns = account.off_cpu.take_runnable_in_gc();
        }
        let mut off_cpu = account.off_cpu.finish();
        // Without a block, this time is only the gap between clocks that are read one after the other, or it
        // was too short to be worth a reading.
        if account.last_block.is_none() {
            off_cpu.runnable_ns += std::mem::take(&mut off_cpu.blocked_ns);
        }
        // Blocks before the last record were over by then, and were not found: they were not the last one.
        let missed_ns = off_cpu.blocked_ns.saturating_sub(since_last_ns);
        let blamed = account.last_blamed.filter(|(_, waited)| starts_inside || *waited == labels);
        let blamed = blamed.map_or(nowhere(State::Running), |(key, _)| key);
        let blame_ns = forward(&mut account.blamed_ns, last.walls.gvl_ns);
        let parts = [
            (like(account.last_ran, State::Running), running_ns),
            (like(account.last_ran, State::Runnable), off_cpu.runnable_ns),
            (like(account.last_block, State::Blocked), off_cpu.blocked_ns - missed_ns),
            (nowhere(State::Blocked), missed_ns),
            (like(account.last_wait, State::Waiting), rest.waiting_ns),
            (like(account.last_wait, State::Gvl), rest.gvl_ns),
            (like(account.last_gc, State::Gc), rest.gc_ns),
            (like(account.last_gc, State::Runnable), runnable_in_gc_ns),
        ];
        self.weigh(ticked, RowSums { cpu_ns, ..RowSums::default() });
        if wall {
            for (key, wall_ns) in parts {
                self.weigh(key, RowSums { wall_ns, ..RowSums::default() });
            }
            self.weigh(blamed, RowSums { blame_ns, ..RowSums::default() });
        }
    }

    /// Returns the index of a record's span.
    fn span(&mut self, header: &Header) -> SpanIndex {
        match (&mut self.spans, header.span) {
            (Some(spans), Some(span)) => spans.intern(span),
            _ => SpanIndex::NONE,
        }
    }

    fn account(&mut self, now: &Header) -> &mut Account {
        let (inside, started_ns) = (self.starts_inside, self.started_ns);
        self.accounts
            .entry(now.thread)
            .or_insert_with(|| Account { inside, ..Account::at_start(now, started_ns) })
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
