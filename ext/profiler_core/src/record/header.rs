//! The header of a record: everything but its frames.

use ::core::prelude::rust_2021::*;

use super::{Span, State};
use crate::ids::{LabelSetId, ScopeId, ThreadId};

/// The wall clock time of a thread since its measurement began, ns: five clocks that only go forward.
/// Together they are the thread's wall clock. All are 0 while nobody measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WallTimes {
    /// Time in none of the other states, with or without a CPU.
    pub running_ns: u64,
    /// Time spent blocked, asleep, or in C code that released the GVL.
    pub waiting_ns: u64,
    /// Time spent waiting for the GVL.
    pub gvl_ns: u64,
    /// CPU time spent collecting garbage.
    pub gc_ns: u64,
    /// Time spent in a garbage collection without a CPU.
    pub gc_off_cpu_ns: u64,
}

impl WallTimes {
    /// Returns the thread's wall clock.
    #[inline]
    #[must_use]
    pub fn total_ns(&self) -> u64 {
        let Self { running_ns, waiting_ns, gvl_ns, gc_ns, gc_off_cpu_ns } = *self;
        running_ns + waiting_ns + gvl_ns + gc_ns + gc_off_cpu_ns
    }
}

/// A record header: everything about a record but its frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The thread that the record is about.
    pub thread: ThreadId,
    /// The state of the thread.
    pub state: State,
    /// The labels that are current on the thread.
    pub labels: LabelSetId,
    /// The request or job that is current on the thread.
    pub scope: ScopeId,
    /// The span of a trace that the thread is in.
    pub span: Option<Span>,
    /// The CPU clock of the thread, ns.
    pub cpu_ns: u64,
    /// The part of the CPU clock that this record leaves to a later one, ns: see `engine/perf.rs` of the
    /// extension.
    pub deferred_cpu_ns: u64,
    /// The time that the thread has spent ready to run but without a CPU, as far as it is known by now, ns: a
    /// clock that only goes forward.
    pub runnable_ns: u64,
    /// The monotonic clock, ns.
    pub monotonic_ns: u64,
    /// The CPU clock of the thread when it started or was first seen, ns. Its first record counts from there.
    pub start_cpu_ns: u64,
    /// The wall clocks of the thread, all of which were 0 when it started.
    pub walls: WallTimes,
}

impl Header {
    /// Returns the header of a record about a running thread without labels, with none of its clocks.
    #[inline]
    #[must_use]
    pub fn new(thread: ThreadId, monotonic_ns: u64) -> Self {
        Self {
            thread,
            state: State::Running,
            labels: LabelSetId::NONE,
            scope: ScopeId::NONE,
            span: None,
            cpu_ns: 0,
            deferred_cpu_ns: 0,
            runnable_ns: 0,
            monotonic_ns,
            start_cpu_ns: 0,
            walls: WallTimes::default(),
        }
    }
}
