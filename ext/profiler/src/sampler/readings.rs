//! Readings of clocks and counters at the start of a session.

use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use profiler_core::pipeline::hub::Hub;
use profiler_core::record::counters::Counts;

use crate::capture::allocation;
use crate::engine::ticker;
use crate::sys::clock;
use crate::threads;
use crate::vm;

/// The difference between two clocks from which on it is a step, and not the drift that NTP corrects
/// gradually.
const CLOCK_STEP_NS: u64 = 1_000_000_000;

/// The clocks and counters when a session started, or was continued in a forked child.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessReadings {
    pub(crate) at_ns: u64,
    pub(crate) monotonic_ns: u64,
    pub(crate) counts: Counts,
    /// The number of label sets that were not kept apart.
    pub(crate) labels_refused: u64,
    pub(crate) handler_ns: u64,
    /// The CPU time of all our threads, in nanoseconds.
    pub(crate) collector_ns: u64,
    /// The number of objects that our own threads allocated while objects were counted.
    pub(crate) own_objects: u64,
    /// The CPU clock of the process, for a session that covers all of it.
    pub(crate) process_cpu_ns: Option<u64>,
    /// The number of objects allocated so far by the VM's count, for a session that covers all of them.
    pub(crate) vm_objects: Option<u64>,
}

impl ProcessReadings {
    pub(crate) fn now(hub: &Hub) -> Self {
        Self {
            at_ns: clock::realtime_ns(),
            monotonic_ns: clock::monotonic_ns(),
            counts: hub.counters.read(),
            labels_refused: hub.labels_refused(),
            handler_ns: threads::handler_ns(),
            collector_ns: COLLECTOR_NS.load(Ordering::Relaxed) + ticker::used_ns() + threads::own::used_ns(),
            own_objects: allocation::own_objects(),
            process_cpu_ns: None,
            vm_objects: None,
        }
    }

    /// Returns the time of day of the start in nanoseconds, by the present clock. If the clock was set since,
    /// the old time is useless: an engine refuses a window that began an hour ago or lies in the future.
    pub(crate) fn time_of_day_ns(&self) -> u64 {
        let since_ns = clock::monotonic_ns().saturating_sub(self.monotonic_ns);
        let by_now_ns = clock::realtime_ns().saturating_sub(since_ns);
        if by_now_ns.abs_diff(self.at_ns) > CLOCK_STEP_NS {
            by_now_ns
        } else {
            self.at_ns
        }
    }

    /// Moves the start by what the process used since `end`, which the session does not cover. With the GVL,
    /// after the objects were flushed.
    pub(super) fn skip(&mut self, end: &Self) {
        let now = self.next(end);
        let later =
            |start: Option<u64>, now: Option<u64>, end: Option<u64>| Some(start? + now?.saturating_sub(end?));
        self.process_cpu_ns = later(self.process_cpu_ns, now.process_cpu_ns, end.process_cpu_ns);
        self.vm_objects = later(self.vm_objects, now.vm_objects, end.vm_objects);
        self.own_objects += allocation::own_objects().saturating_sub(end.own_objects);
    }

    /// Returns the readings of a session that continues from `now`. With the GVL, and no allocation since
    /// `now`.
    pub(super) fn next(&self, now: &Self) -> Self {
        Self {
            process_cpu_ns: self.process_cpu_ns.map(|_| clock::process_cpu_ns()),
            vm_objects: self.vm_objects.map(|_| {
                // SAFETY: the GVL is held.
                unsafe { vm::allocations::total_allocated() }
            }),
            ..*now
        }
    }
}

/// The CPU time that the collector thread has used, in nanoseconds.
pub(super) static COLLECTOR_NS: AtomicU64 = AtomicU64::new(0);
/// The native id of the collector thread; 0 before the first one.
pub(super) static COLLECTOR_ID: AtomicI32 = AtomicI32::new(0);
