//! The registry of threads, as seen by the pipeline.

use crate::profile::Thread;
use crate::record::Header;

/// The life of a thread up to now, or up to its end.
#[derive(Clone, Debug)]
pub struct ThreadLife {
    /// The clocks of the thread now, or at its end.
    pub last: Header,
    /// The thread as reports call it.
    pub info: Thread,
}

/// The part of the thread registry that draining needs.
pub trait ThreadRegistry: Sync {
    /// Appends the threads that have ended and were not taken yet. By then their last records are in the
    /// ring.
    fn take_ended(&self, into: &mut Vec<ThreadLife>);
}
