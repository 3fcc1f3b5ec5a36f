//! The rows of a session: what identifies one, and what it weighs.

use crate::ids::{LabelSetId, StackId, ThreadId};
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
    /// Its state.
    pub state: State,
    /// Details of some kinds of rows.
    pub detail: Detail,
}

/// The sums of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weight {
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

impl Weight {
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
