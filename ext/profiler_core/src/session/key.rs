//! The rows of a session: what identifies one, and what it weighs.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::ids::{LabelSetId, SpanIndex, StackId, ThreadId};
use crate::record::detail::Detail;
use crate::record::State;

/// The key of a row: weights are summed by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The stack; nothing for time of which no stack was ever taken.
    pub stack: Option<StackId>,
    /// The thread.
    pub thread: ThreadId,
    /// Its labels.
    pub labels: LabelSetId,
    /// Its span.
    pub span: SpanIndex,
    /// Its state.
    pub state: State,
    /// Details of some kinds of rows.
    pub detail: Detail,
}

impl Key {
    /// The threads that it names: its own, and the one that waited.
    pub(crate) fn threads(&self) -> impl Iterator<Item = ThreadId> {
        let waiter = match self.detail {
            Detail::Waiter(thread) => Some(thread),
            Detail::None | Detail::Gc(_) | Detail::Allocated(_) | Detail::Live(..) => None,
        };
        std::iter::once(self.thread).chain(waiter)
    }

    /// The key with the ids that threads which have ended are given.
    pub(crate) fn folded(&self, ids: &HashMap<ThreadId, ThreadId, FxBuildHasher>) -> Self {
        let new = |thread: ThreadId| ids.get(&thread).copied().unwrap_or(thread);
        let detail = match self.detail {
            Detail::Waiter(thread) => Detail::Waiter(new(thread)),
            other => other,
        };
        Self { thread: new(self.thread), detail, ..*self }
    }
}

/// The sums of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowSums {
    /// Records.
    pub count: u64,
    /// CPU time, ns.
    pub cpu_ns: u64,
    /// Wall clock time in the key's state, ns.
    pub wall_ns: u64,
    /// Wall clock time that another thread waited for the GVL meanwhile, ns.
    pub blame_ns: u64,
    /// Allocated objects.
    pub objects: u64,
    /// Bytes of these objects.
    pub bytes: u64,
}

impl RowSums {
    /// Adds another.
    pub(crate) fn add(&mut self, more: &Self) {
        self.count += more.count;
        self.cpu_ns += more.cpu_ns;
        self.wall_ns += more.wall_ns;
        self.blame_ns += more.blame_ns;
        self.objects += more.objects;
        self.bytes += more.bytes;
    }
}
