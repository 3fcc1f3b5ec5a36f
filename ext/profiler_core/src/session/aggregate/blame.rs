//! Whom a thread's waiting for the GVL is blamed on: what ran meanwhile.
//!
//! The time that a thread waits for the GVL is a clock like the others. A tick that finds another thread with the GVL moves
//! it on, and the stack of the tick gets the difference. So the sum is the thread's own waiting, and stacks get shares of it
//! in proportion to how long they had the GVL while it waited.
//!
//! The rest of a wait, after its last tick, is kept for a tick in the thread's next wait. At the end it goes to its last row of
//! blame. So a wait without a tick biases nothing.
//!
//! The alternative was one clock of the process, the sum of all threads' waiting, read in each record. All threads
//! would write that counter whenever they are ready or resume, where the comparison of two times is one load. It knows
//! no thread, so sessions of some threads, labels or requests could not have their own waiting, and there would be no
//! `waiter`. And a difference between two ticks blames the second one also where nobody waited for it any more.
//! `bench/README.md` has what this way is worth.

use super::account::{forward, LastClocks};
use super::Aggregate;
use crate::ids::{LabelSetId, SpanIndex, StackId};
use crate::record::detail::Detail;
use crate::record::{Header, State};
use crate::session::gvl_ticks::GvlTick;
use crate::session::key::{Key, RowSums};

impl Aggregate {
    /// Blames the ticks for the wait for the GVL that the thread of `header` has been in, up to `header`. They are those that
    /// fell into the wait, in the order of time. Each gets what the thread had waited since the one before. The rest is
    /// for the first tick of its next wait.
    pub fn blame(&mut self, header: &Header, ticks: impl Iterator<Item = GvlTick>) {
        let account = self.account(&LastClocks::of(header));
        let (mut blamed_ns, mut last) = (account.blamed_ns, None);
        let detail = Detail::Waiter(header.thread);
        for GvlTick { at_ns, key } in ticks {
            let waited_ns = header.walls.gvl_ns.saturating_sub(header.monotonic_ns.saturating_sub(at_ns));
            let (key, blame_ns) = (Key { detail, ..key }, forward(&mut blamed_ns, waited_ns));
            self.now_ns = at_ns;
            self.weigh(key, RowSums { blame_ns, ..RowSums::default() });
            last = Some((key, header.labels));
        }
        let account = self.account(&LastClocks::of(header));
        account.blamed_ns = blamed_ns;
        account.last_blamed = last.or(account.last_blamed);
    }

    /// Whether the thread of `header` counts at that time.
    pub fn counts(&mut self, header: &Header) -> bool {
        header.monotonic_ns >= self.started_ns && self.account(&LastClocks::of(header)).inside
    }

    /// Blames nobody, which is what `stack` says, for what the thread of `header` has waited so far.
    pub(super) fn blame_nobody(&mut self, header: &Header, stack: Option<StackId>) {
        let account = self.account(&LastClocks::of(header));
        let blame_ns = forward(&mut account.blamed_ns, header.walls.gvl_ns);
        let Header { thread, .. } = *header;
        let (labels, state, detail) = (LabelSetId::NONE, State::Running, Detail::Waiter(thread));
        let key = Key { stack, thread, labels, span: SpanIndex::NONE, state, detail };
        account.last_blamed = Some((key, header.labels));
        self.weigh(key, RowSums { blame_ns, ..RowSums::default() });
    }
}
