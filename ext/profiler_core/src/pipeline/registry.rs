//! The registry of threads, as the pipeline sees it.

use crate::profile::Thread;
use crate::session::aggregate::LastClocks;

/// A thread up to now, or up to its end.
#[derive(Clone, Debug)]
pub struct ThreadLife {
    /// Its clocks now, or at its end.
    pub last: LastClocks,
    /// The thread as reports call it.
    pub info: Thread,
}

/// The registry of threads, as far as draining has to know it.
pub trait ThreadRegistry: Sync {
    /// Appends the threads that have ended and were not taken yet. Their last records are in the
    /// ring by then.
    fn take_ended(&self, into: &mut Vec<ThreadLife>);
}
