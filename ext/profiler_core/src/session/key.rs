//! The rows of a session: what identifies a row, and its weights.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::ids::{LabelSetId, SpanIndex, StackId, ThreadId};
use crate::record::detail::Detail;
use crate::record::State;

/// The key of a row. Weights are summed by key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The stack, or `None` for time for which no stack was ever taken.
    pub stack: Option<StackId>,
    /// The thread.
    pub thread: ThreadId,
    /// The labels of the thread.
    pub labels: LabelSetId,
    /// The span of the thread.
    pub span: SpanIndex,
    /// The state of the thread.
    pub state: State,
    /// The detail that some kinds of rows have.
    pub detail: Detail,
}

impl Key {
    /// Iterates over the threads in the key: its own, and the one that waited.
    pub(crate) fn threads(&self) -> impl Iterator<Item = ThreadId> {
        let waiter = match self.detail {
            Detail::Waiter(thread) => Some(thread),
            _ => None,
        };
        std::iter::once(self.thread).chain(waiter)
    }

    /// Returns the key with the ids of ended threads replaced by those of their groups.
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
    /// The number of records.
    pub count: u64,
    /// CPU time, ns.
    pub cpu_ns: u64,
    /// Wall-clock time in the key's state, ns.
    pub wall_ns: u64,
    /// Wall-clock time that another thread waited for the GVL while this code held it, ns.
    pub blame_ns: u64,
    /// The number of allocated objects.
    pub objects: u64,
    /// The bytes of these objects.
    pub bytes: u64,
}

impl RowSums {
    /// Adds the sums of another row.
    pub(crate) fn add(&mut self, more: &Self) {
        self.count += more.count;
        self.cpu_ns += more.cpu_ns;
        self.wall_ns += more.wall_ns;
        self.blame_ns += more.blame_ns;
        self.objects += more.objects;
        self.bytes += more.bytes;
    }
}
