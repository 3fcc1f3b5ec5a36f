//! The end of what a result covers, if work of our own comes before the result can be taken.
//!
//! A session that tracks live memory collects garbage first, and may have a copy of the process look for owners.
//! In a short session this would be the largest part of all, and it is no work of the program. So the session is
//! settled before: it records no more, and the readings of that instant are its last ones.

use profiler_core::pipeline::hub::Hub;
use profiler_core::pipeline::SessionId;

use crate::sampler::collection::Collection;
use crate::sampler::cpu_waits::CpuWaits;
use crate::sampler::fork::{self, enter};
use crate::sampler::readings::ProcessReadings;
use crate::sampler::running::thread_readings;
use crate::sampler::tick_request::TickRequest;
use crate::shared::CAPTURE;
use crate::sys::clock;
use crate::threads::Registry;
use crate::vm::threads::RubyThread;

/// The readings at the end of what a result covers.
#[derive(Clone, Debug)]
pub(crate) struct PartEnd {
    pub(super) readings: ProcessReadings,
    /// The run delay of the threads and the throttling of the cgroup, in nanoseconds.
    pub(super) cpu_waits: (u64, u64),
    /// The counts with which the next part begins.
    pub(super) next_cpu_waits: CpuWaits,
    /// The time within object windows and the whole time, in nanoseconds, if the session has windows.
    pub(super) object_windows: Option<(u64, u64)>,
    /// The process that was read. A forked child continues the session with clocks of its own.
    pid: u32,
}

impl PartEnd {
    /// Reads the clocks and counters. With the GVL.
    pub(super) fn now(hub: &Hub, ticks: &TickRequest, collection: &Collection) -> Self {
        let (cpu_waits, next_cpu_waits) =
            if collection.is_slice() { ((0, 0), CpuWaits::NotAsked) } else { ticks.cpu_waits.rotate() };
        let readings = collection.start.next(&ProcessReadings::now(hub));
        let object_windows = ticks.windows.map(|it| it.seen(readings.monotonic_ns));
        Self { readings, cpu_waits, next_cpu_waits, object_windows, pid: fork::pid() }
    }

    /// Returns whether this process was read, and not the parent of a forked child.
    pub(crate) fn is_of_this_process(&self) -> bool {
        self.pid == fork::pid()
    }

    /// Returns the end on the monotonic clock.
    pub(crate) fn monotonic_ns(&self) -> u64 {
        self.readings.monotonic_ns
    }
}

/// Settles a session, so that what follows is not in its next result. `named` are the threads as Ruby lists
/// them. Returns `None` if there is nothing to settle: the session is paused, a slice, or over.
pub(crate) fn settle(session: SessionId, named: &[RubyThread]) -> Option<PartEnd> {
    let mut sampler = enter();
    let hub = CAPTURE.hub()?;
    let (ticks, collection) = sampler.find(session)?;
    if ticks.paused || collection.is_slice() {
        return None;
    }
    ticks.record_open_waits(hub, named, collection.scope);
    ticks.flush_memory(hub);
    let end = PartEnd::now(hub, ticks, collection);
    hub.settle(session, &Registry, &ticks.thread_lives(named));
    Some(end)
}

/// Continues a session that was settled at `end` and goes on. No-op for a session that is over, or was paused
/// meanwhile.
pub(crate) fn unsettle(session: SessionId, end: &PartEnd) {
    let mut sampler = enter();
    let (Some(hub), Some((ticks, collection))) = (CAPTURE.hub(), sampler.find(session)) else { return };
    if ticks.paused {
        return;
    }
    ticks.flush_memory(hub);
    collection.start.skip(&end.readings);
    hub.resume(session, &Registry, clock::monotonic_ns(), &thread_readings(|_| true));
}
