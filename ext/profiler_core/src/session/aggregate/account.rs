//! The account of a thread in a session: up to where its time has been attributed.

use crate::ids::{LabelSetId, ThreadId};
use crate::record::{Header, WallTimes};
use crate::session::key::Key;

/// The clocks of a thread when it is finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Last {
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

/// A thread when a session begins to profile it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beginning {
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

impl Last {
    pub(super) fn of(header: &Header) -> Self {
        let Header { thread, start_cpu_ns, cpu_ns, walls, monotonic_ns, .. } = *header;
        Self { thread, start_cpu_ns, cpu_ns, walls, monotonic_ns }
    }
}

impl Account {
    /// The account of a thread that is first seen. It was started since the session began; or made before and first ran
    /// since, and waited for the GVL till then.
    pub(super) fn at_start(now: &Last, started_ns: u64) -> Self {
        let WallTimes { running_ns, waiting_ns, gvl_ns, gc_ns } = now.walls;
        let start_ns = now.monotonic_ns.saturating_sub(running_ns + waiting_ns + gvl_ns + gc_ns);
        let before_ns = started_ns.saturating_sub(start_ns).min(gvl_ns);
        Self::at(now.start_cpu_ns, WallTimes { gvl_ns: before_ns, ..WallTimes::default() })
    }

    pub(super) fn at(cpu_ns: u64, walls: WallTimes) -> Self {
        Self {
            cpu_ns,
            walls,
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

/// Moves a clock on to where it stands now, never back, and gives the difference.
pub(super) fn forward(attributed_ns: &mut u64, now_ns: u64) -> u64 {
    let more = now_ns.saturating_sub(*attributed_ns);
    *attributed_ns += more;
    more
}
