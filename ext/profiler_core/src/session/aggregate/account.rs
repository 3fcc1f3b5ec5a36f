//! The account of a thread in a session: up to where its time has been attributed.

use super::off_cpu::OffCpu;
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
    /// Its clock of being ready to run without a CPU, ns.
    pub runnable_ns: u64,
    /// The monotonic clock at that time, ns.
    pub monotonic_ns: u64,
}

/// The clocks of a thread, up to which every nanosecond has been attributed to a stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Account {
    pub(super) cpu_ns: u64,
    pub(super) walls: WallTimes,
    /// The time in which it used no CPU and did not wait, as far as no row has it.
    pub(super) off_cpu: OffCpu,
    /// The part of its waiting for the GVL that somebody was blamed for.
    pub(super) blamed_ns: u64,
    /// Whether the thread's time counts now.
    pub(super) inside: bool,
    /// Labels current on the thread, where the session selects labels.
    pub(super) labels: LabelSetId,
    /// The rows of the last records: with a tick in it, of running code, of a wait, of a block, of a GC.
    pub(super) last: Option<Key>,
    pub(super) last_ran: Option<Key>,
    pub(super) last_wait: Option<Key>,
    pub(super) last_block: Option<Key>,
    pub(super) last_gc: Option<Key>,
    /// The row that was blamed last, and the labels under which this thread had waited.
    pub(super) last_blamed: Option<(Key, LabelSetId)>,
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
    /// Its clock of being ready to run without a CPU, ns.
    pub runnable_ns: u64,
    /// Whether its time counts from now on, or only after it has crossed into the session's labels.
    pub inside: bool,
    /// Labels current on it.
    pub labels: LabelSetId,
}

impl LastClocks {
    pub(super) fn of(header: &Header) -> Self {
        let Header { thread, start_cpu_ns, cpu_ns, walls, runnable_ns, monotonic_ns, .. } = *header;
        Self { thread, start_cpu_ns, cpu_ns, walls, runnable_ns, monotonic_ns }
    }
}

impl Account {
    /// The account of a thread that is first seen. It was started since the session began; or made before and first ran
    /// since, and waited for the GVL till then.
    pub(super) fn at_start(now: &LastClocks, started_ns: u64) -> Self {
        let WallTimes { running_ns, waiting_ns, gvl_ns, gc_ns } = now.walls;
        let start_ns = now.monotonic_ns.saturating_sub(running_ns + waiting_ns + gvl_ns + gc_ns);
        let before_ns = started_ns.saturating_sub(start_ns).min(gvl_ns);
        Self::at(now.start_cpu_ns, WallTimes { gvl_ns: before_ns, ..WallTimes::default() }, 0)
    }

    pub(super) fn at(cpu_ns: u64, walls: WallTimes, runnable_ns: u64) -> Self {
        Self {
            cpu_ns,
            walls,
            off_cpu: OffCpu::at(cpu_ns, &walls, runnable_ns),
            blamed_ns: walls.gvl_ns,
            inside: false,
            labels: LabelSetId::NONE,
            last: None,
            last_ran: None,
            last_wait: None,
            last_block: None,
            last_gc: None,
            last_blamed: None,
        }
    }
}

impl Account {
    /// The same account with the clocks at these, after a pause.
    pub(super) fn resumed(self, cpu_ns: u64, walls: WallTimes, runnable_ns: u64) -> Self {
        let off_cpu = OffCpu::at(cpu_ns, &walls, runnable_ns);
        Self { cpu_ns, walls, off_cpu, blamed_ns: walls.gvl_ns, ..self }
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
    pub(super) fn skip_to(&mut self, cpu_ns: u64, walls: &WallTimes, runnable_ns: u64) {
        self.take_rest(cpu_ns, walls);
        self.blamed_ns = self.blamed_ns.max(walls.gvl_ns);
        self.off_cpu.compare(cpu_ns, walls, runnable_ns, true);
        self.off_cpu.forget();
    }

    /// The rows that it names.
    pub(super) fn keys_mut(&mut self) -> impl Iterator<Item = &mut Key> {
        let Self { last, last_ran, last_wait, last_block, last_gc, last_blamed, .. } = self;
        let blamed = last_blamed.as_mut().map(|(key, _)| key);
        [last, last_ran, last_wait, last_block, last_gc].into_iter().flatten().chain(blamed)
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
