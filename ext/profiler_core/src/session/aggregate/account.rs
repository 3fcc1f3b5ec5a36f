//! The account of a thread in a session: up to where its time has been attributed.
//!
//! From Ruby 3.3 on the sums of the wall clock have a fifth part: `runnable` is running time, or GC, that the CPU clock
//! lacks. It is computed between two records of running code or GC, and lands where the thread was when it got a CPU
//! again. CPU time of C code without the GVL belongs to a wait. Such CPU time hides runnable time of the same span, but
//! makes none.

use crate::ids::{LabelSetId, ThreadId};
use crate::record::{Header, WallTimes};
use crate::session::key::Key;

/// The clocks of a thread when it is finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastClocks {
    /// The thread.
    pub thread: ThreadId,
    /// Its CPU clock when it started or was first seen, ns.
    pub start_cpu_ns: u64,
    /// Its CPU clock, ns.
    pub cpu_ns: u64,
    /// Its wall clocks.
    pub walls: WallTimes,
    /// The monotonic clock at that time, ns.
    pub monotonic_ns: u64,
}

/// The clocks of a thread, up to which every nanosecond has been attributed to a stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Account {
    pub(super) cpu_ns: u64,
    pub(super) walls: WallTimes,
    /// The clocks up to which its CPU time was compared with its time of running and of GC.
    pub(super) compared: Compared,
    /// Time without a CPU that no row has yet.
    pub(super) off_cpu_ns: u64,
    /// The part of its waiting for the GVL that somebody was blamed for.
    pub(super) blamed_ns: u64,
    /// Whether the thread's time counts now.
    pub(super) inside: bool,
    /// Labels current on the thread, where the session selects labels.
    pub(super) labels: LabelSetId,
    /// The rows of the last records: with a tick in it, of running code, of a wait, of a GC.
    pub(super) last: Option<Key>,
    pub(super) last_ran: Option<Key>,
    pub(super) last_wait: Option<Key>,
    pub(super) last_gc: Option<Key>,
    /// The row that was blamed last, and the labels under which this thread had waited.
    pub(super) last_blamed: Option<(Key, LabelSetId)>,
}

/// The clocks that tell the time without a CPU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Compared {
    cpu_ns: u64,
    running_ns: u64,
    gc_ns: u64,
    /// CPU time that is to be compared with GC that the records so far leave to later ones.
    ahead_ns: u64,
}

impl Compared {
    fn at(cpu_ns: u64, walls: &WallTimes) -> Self {
        Self { cpu_ns, running_ns: walls.running_ns, gc_ns: walls.gc_ns, ahead_ns: 0 }
    }
}

/// A thread when a session begins to profile it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstClocks {
    /// The thread.
    pub thread: ThreadId,
    /// Its CPU clock, ns.
    pub cpu_ns: u64,
    /// Its wall clocks.
    pub walls: WallTimes,
    /// Whether its time counts from now on, or only after it has crossed into the session's labels.
    pub inside: bool,
    /// Labels current on it.
    pub labels: LabelSetId,
}

impl LastClocks {
    pub(super) fn of(header: &Header) -> Self {
        let Header { thread, start_cpu_ns, cpu_ns, walls, monotonic_ns, .. } = *header;
        Self { thread, start_cpu_ns, cpu_ns, walls, monotonic_ns }
    }
}

impl Account {
    /// The account of a thread that is first seen. It was started since the session began; or made before and first ran
    /// since, and waited for the GVL till then.
    pub(super) fn at_start(now: &LastClocks, started_ns: u64) -> Self {
        let WallTimes { running_ns, waiting_ns, gvl_ns, gc_ns } = now.walls;
        let start_ns = now.monotonic_ns.saturating_sub(running_ns + waiting_ns + gvl_ns + gc_ns);
        let before_ns = started_ns.saturating_sub(start_ns).min(gvl_ns);
        Self::at(now.start_cpu_ns, WallTimes { gvl_ns: before_ns, ..WallTimes::default() })
    }

    pub(super) fn at(cpu_ns: u64, walls: WallTimes) -> Self {
        Self {
            cpu_ns,
            walls,
            compared: Compared::at(cpu_ns, &walls),
            off_cpu_ns: 0,
            blamed_ns: walls.gvl_ns,
            inside: false,
            labels: LabelSetId::NONE,
            last: None,
            last_ran: None,
            last_wait: None,
            last_gc: None,
            last_blamed: None,
        }
    }
}

impl Account {
    /// The same account with the clocks at these, after a pause.
    pub(super) fn resumed(self, cpu_ns: u64, walls: WallTimes) -> Self {
        let compared = Compared::at(cpu_ns, &walls);
        Self { cpu_ns, walls, compared, off_cpu_ns: 0, blamed_ns: walls.gvl_ns, ..self }
    }

    /// The CPU time and the wall times that are attributed to no row yet, which are the caller's to attribute.
    pub(super) fn take_rest(&mut self, cpu_ns: u64, walls: &WallTimes) -> (u64, WallTimes) {
        let it = &mut self.walls;
        let rest = WallTimes {
            running_ns: forward(&mut it.running_ns, walls.running_ns),
            waiting_ns: forward(&mut it.waiting_ns, walls.waiting_ns),
            gvl_ns: forward(&mut it.gvl_ns, walls.gvl_ns),
            gc_ns: forward(&mut it.gc_ns, walls.gc_ns),
        };
        (forward(&mut self.cpu_ns, cpu_ns), rest)
    }

    /// Moves all clocks on to these, never back.
    pub(super) fn skip_to(&mut self, cpu_ns: u64, walls: &WallTimes) {
        self.take_rest(cpu_ns, walls);
        self.blamed_ns = self.blamed_ns.max(walls.gvl_ns);
        self.compare(cpu_ns, walls, true);
        self.off_cpu_ns = 0;
    }

    /// Finds the time without a CPU since the last comparison: what the CPU clock lacks of running and GC.
    ///
    /// CPU time of C code without the GVL makes that less, as it belongs to a wait. It never makes it more. The clock of GC may
    /// be behind, if not `whole`.
    pub(super) fn compare(&mut self, cpu_ns: u64, walls: &WallTimes, whole: bool) {
        let it = &mut self.compared;
        let ran_ns = forward(&mut it.running_ns, walls.running_ns) + forward(&mut it.gc_ns, walls.gc_ns);
        let used_ns = forward(&mut it.cpu_ns, cpu_ns) + it.ahead_ns;
        it.ahead_ns = if whole { 0 } else { used_ns.saturating_sub(ran_ns) };
        self.off_cpu_ns += ran_ns.saturating_sub(used_ns);
    }

    /// Splits time of running or GC into that with a CPU and that without, as far as no other row has it.
    pub(super) fn split(&mut self, ns: u64) -> [u64; 2] {
        let without_ns = ns.min(self.off_cpu_ns);
        self.off_cpu_ns -= without_ns;
        [ns - without_ns, without_ns]
    }

    /// The rows that it names.
    pub(super) fn keys_mut(&mut self) -> impl Iterator<Item = &mut Key> {
        let Self { last, last_ran, last_wait, last_gc, last_blamed, .. } = self;
        let blamed = last_blamed.as_mut().map(|(key, _)| key);
        [last, last_ran, last_wait, last_gc].into_iter().flatten().chain(blamed)
    }

    /// The sets of labels that it names besides those of the rows.
    pub(super) fn labels_mut(&mut self) -> impl Iterator<Item = &mut LabelSetId> {
        let Self { labels, last_blamed, .. } = self;
        std::iter::once(labels).chain(last_blamed.as_mut().map(|(_, waited)| waited))
    }
}

/// Moves a clock on to where it stands now, never back, and returns the difference.
pub(super) fn forward(attributed_ns: &mut u64, now_ns: u64) -> u64 {
    let more = now_ns.saturating_sub(*attributed_ns);
    *attributed_ns += more;
    more
}
