//! The account of a thread in a session: the clocks up to which its time has been attributed.

use super::off_cpu::OffCpuAccount;
use crate::ids::LabelSetId;
use crate::record::{Header, WallTimes};
use crate::session::key::Key;

/// The clocks of a thread up to which every nanosecond has been attributed to a stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Account {
    pub(super) cpu_ns: u64,
    pub(super) walls: WallTimes,
    /// The time in which the thread used no CPU and did not wait, as far as no row has it yet.
    pub(super) off_cpu: OffCpuAccount,
    /// The part of the thread's waiting for the GVL for which a holder was blamed.
    pub(super) blamed_ns: u64,
    /// Whether the thread's time counts now.
    pub(super) inside: bool,
    /// The labels that are current on the thread, if the session selects labels.
    pub(super) labels: LabelSetId,
    /// The rows of the last records: with a tick, of running code, of a wait, of a block, of a GC.
    pub(super) last: Option<Key>,
    pub(super) last_ran: Option<Key>,
    pub(super) last_wait: Option<Key>,
    pub(super) last_block: Option<Key>,
    pub(super) last_gc: Option<Key>,
    /// The row that was blamed last, and the labels under which this thread waited.
    pub(super) last_blamed: Option<(Key, LabelSetId)>,
}

impl Account {
    /// Opens the account of a thread that is seen for the first time. Either it was started since the session
    /// began, or it was created earlier, first ran since, and waited for the GVL until then.
    pub(super) fn at_start(now: &Header, started_ns: u64) -> Self {
        let start_ns = now.monotonic_ns.saturating_sub(now.walls.total_ns());
        let before_ns = started_ns.saturating_sub(start_ns).min(now.walls.gvl_ns);
        Self::at(now.start_cpu_ns, WallTimes { gvl_ns: before_ns, ..WallTimes::default() }, 0)
    }

    pub(super) fn at(cpu_ns: u64, walls: WallTimes, runnable_ns: u64) -> Self {
        Self {
            cpu_ns,
            walls,
            off_cpu: OffCpuAccount::at(cpu_ns, &walls, runnable_ns),
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
    /// Returns the account with these clocks, after a pause.
    pub(super) fn resumed(self, cpu_ns: u64, walls: WallTimes, runnable_ns: u64) -> Self {
        let off_cpu = OffCpuAccount::at(cpu_ns, &walls, runnable_ns);
        Self { cpu_ns, walls, off_cpu, blamed_ns: walls.gvl_ns, ..self }
    }

    /// Takes the CPU time and the wall times that no row has yet. The caller has to attribute them.
    pub(super) fn take_rest(&mut self, cpu_ns: u64, walls: &WallTimes) -> (u64, WallTimes) {
        let own = &mut self.walls;
        let rest = WallTimes {
            running_ns: forward(&mut own.running_ns, walls.running_ns),
            waiting_ns: forward(&mut own.waiting_ns, walls.waiting_ns),
            gvl_ns: forward(&mut own.gvl_ns, walls.gvl_ns),
            gc_ns: forward(&mut own.gc_ns, walls.gc_ns),
            gc_off_cpu_ns: forward(&mut own.gc_off_cpu_ns, walls.gc_off_cpu_ns),
        };
        (forward(&mut self.cpu_ns, cpu_ns), rest)
    }

    /// Advances all clocks to these, never back.
    pub(super) fn skip_to(&mut self, cpu_ns: u64, walls: &WallTimes, runnable_ns: u64) {
        self.take_rest(cpu_ns, walls);
        self.blamed_ns = self.blamed_ns.max(walls.gvl_ns);
        self.off_cpu.compare(cpu_ns, walls, runnable_ns);
        self.off_cpu.forget();
    }

    /// Iterates over the rows named in the account.
    pub(super) fn keys_mut(&mut self) -> impl Iterator<Item = &mut Key> {
        let Self { last, last_ran, last_wait, last_block, last_gc, last_blamed, .. } = self;
        let blamed = last_blamed.as_mut().map(|(key, _)| key);
        [last, last_ran, last_wait, last_block, last_gc].into_iter().flatten().chain(blamed)
    }

    /// Iterates over the label sets named in the account outside of its rows.
    pub(super) fn labels_mut(&mut self) -> impl Iterator<Item = &mut LabelSetId> {
        let Self { labels, last_blamed, .. } = self;
        std::iter::once(labels).chain(last_blamed.as_mut().map(|(_, waited)| waited))
    }
}

/// Advances a clock to the current reading, never back, and returns the difference.
pub(super) fn forward(attributed_ns: &mut u64, now_ns: u64) -> u64 {
    let more = now_ns.saturating_sub(*attributed_ns);
    *attributed_ns += more;
    more
}
