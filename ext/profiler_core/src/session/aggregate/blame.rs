//! Attributes a thread's waiting for the GVL to the code that held it.
//!
//! The time that a thread waits for the GVL is a clock like the others. A tick that finds another thread with
//! the GVL advances that clock, and the stack of the tick gets the difference. So the sum is the thread's own
//! waiting, and each stack gets a part of it in proportion to how long it held the GVL while the thread
//! waited.
//!
//! The rest of a wait, after its last tick, is kept for a tick in the thread's next wait. At the end it goes
//! to the thread's last row of blame. So a wait without a tick introduces no bias.
//!
//! The alternative was one clock of the process, the sum of all threads' waiting, read in each record. All
//! threads would write that counter whenever they become ready or resume, where comparing two times takes one
//! load. That clock knows no threads, so sessions of some threads, labels or requests could not have their
//! own waiting, and there would be no `waiter`. And a difference between two ticks also blames the second one
//! where nobody was waiting for it any more. `bench/README.md` shows how accurate this approach is.

use super::account::forward;
use super::Aggregate;
use crate::ids::{LabelSetId, SpanIndex, StackId};
use crate::record::detail::Detail;
use crate::record::{Header, State};
use crate::session::gvl_ticks::GvlTick;
use crate::session::key::{Key, RowSums};

impl Aggregate {
    /// Blames the ticks for the wait for the GVL of the thread of `header`, up to `header`. The ticks are
    /// those that fell into the wait, in chronological order. Each gets the time that the thread had waited
    /// since the tick before. The rest is kept for the first tick of the thread's next wait.
    pub fn blame(&mut self, header: &Header, ticks: impl Iterator<Item = GvlTick>) {
        let account = self.account(header);
        let (mut blamed_ns, mut last) = (account.blamed_ns, None);
        let detail = Detail::Waiter(header.thread);
        for GvlTick { at_ns, key } in ticks {
            let waited_ns = header.walls.gvl_ns.saturating_sub(header.monotonic_ns.saturating_sub(at_ns));
            let (key, blame_ns) = (Key { detail, ..key }, forward(&mut blamed_ns, waited_ns));
            self.now_ns = at_ns;
            self.weigh(key, RowSums { blame_ns, ..RowSums::default() });
            last = Some((key, header.labels));
        }
        let account = self.account(header);
        account.blamed_ns = blamed_ns;
        account.last_blamed = last.or(account.last_blamed);
    }

    /// Returns whether the thread of `header` counts at that time.
    pub fn counts(&mut self, header: &Header) -> bool {
        header.monotonic_ns >= self.started_ns && self.account(header).inside
    }

    /// Blames nobody, as `stack` says, for the time that the thread of `header` has waited so far.
    pub(super) fn blame_nobody(&mut self, header: &Header, stack: Option<StackId>) {
        let account = self.account(header);
        let blame_ns = forward(&mut account.blamed_ns, header.walls.gvl_ns);
        let Header { thread, .. } = *header;
        let (labels, state, detail) = (LabelSetId::NONE, State::Running, Detail::Waiter(thread));
        let key = Key { stack, thread, labels, span: SpanIndex::NONE, state, detail };
        account.last_blamed = Some((key, header.labels));
        self.weigh(key, RowSums { blame_ns, ..RowSums::default() });
    }
}
