//! The header of a record: everything but its frames.

use ::core::prelude::rust_2021::*;

use super::{Span, State};
use crate::ids::{LabelSetId, ScopeId, ThreadId};

/// The wall clock time of a thread since somebody began to measure it, ns: four clocks that only go forward.
/// Together they are its wall clock; all are 0 while nobody measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WallTimes {
    /// None of the others.
    pub running_ns: u64,
    /// Blocked, asleep, or in C code that let go of the GVL.
    pub waiting_ns: u64,
    /// Waiting for the GVL.
    pub gvl_ns: u64,
    /// Collecting garbage.
    pub gc_ns: u64,
}

/// A record header: everything about a record but its frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The thread that the record is about.
    pub thread: ThreadId,
    /// The thread's state.
    pub state: State,
    /// Labels current on the thread.
    pub labels: LabelSetId,
    /// Request or job current on the thread.
    pub scope: ScopeId,
    /// Span of a trace that the thread is in.
    pub span: Option<Span>,
    /// CPU clock of the thread, ns.
    pub cpu_ns: u64,
    /// The part of that which this record leaves to a later one, ns: see `engine/perf.rs` of the extension.
    pub deferred_cpu_ns: u64,
    /// The time for which it has been ready to run without a CPU, as far as that is known by now, ns: a clock that only goes
    /// forward.
    pub runnable_ns: u64,
    /// Monotonic clock, ns.
    pub monotonic_ns: u64,
    /// The thread's CPU clock when it started or was first seen: its first record counts from there.
    pub start_cpu_ns: u64,
    /// Its wall clocks; all were 0 when it started.
    pub walls: WallTimes,
}
