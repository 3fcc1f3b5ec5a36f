//! Sessions that sample objects only at times, as the hook on allocation has an overhead for each object. The
//! caller decides when.
//!
//! No interval makes that hook cheaper. So a continuous session samples objects in whole periods, which
//! `lib/profiler/periods/object_windows.rb` chooses from the VM's own count of objects. In the others the
//! hook is off. A window that opened in the middle of work would miss the bulk of it, as it could open only
//! where Ruby checks its interrupts.

use profiler_core::pipeline::hub::Hub;
use profiler_core::pipeline::SessionId;

use crate::sys::clock;
use crate::threads::Registry;

/// The windows in which a session samples objects, if it does not do so all the time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObjectWindows {
    /// The start of the recorded time, on the monotonic clock.
    begun_ns: u64,
    /// The time at which the present window was opened; `None` if none is open.
    open_since_ns: Option<u64>,
    /// The total length of the previous windows, in nanoseconds.
    sampled_ns: u64,
}

impl ObjectWindows {
    /// Returns the windows of a session that is not open yet. None of them is.
    pub(super) fn closed() -> Self {
        Self::noted_from(clock::monotonic_ns())
    }

    /// Returns the windows of a session that begins at `now_ns`. None is open.
    pub(super) fn begin(hub: &Hub, session: SessionId, now_ns: u64) -> Self {
        hub.set_objects_paused(session, &Registry, true);
        Self::noted_from(now_ns)
    }

    fn noted_from(now_ns: u64) -> Self {
        Self { begun_ns: now_ns, open_since_ns: None, sampled_ns: 0 }
    }

    pub(super) fn is_open(&self) -> bool {
        self.open_since_ns.is_some()
    }

    /// Returns the time within windows up to `now_ns`, and the whole time, in nanoseconds.
    pub(super) fn seen(&self, now_ns: u64) -> (u64, u64) {
        let open_ns = self.open_since_ns.map_or(0, |since| now_ns.saturating_sub(since));
        (self.sampled_ns + open_ns, now_ns.saturating_sub(self.begun_ns))
    }

    /// Returns the same windows, recorded from `now_ns` on.
    pub(super) fn next(&self, now_ns: u64) -> Self {
        Self { open_since_ns: self.open_since_ns.map(|_| now_ns), ..Self::noted_from(now_ns) }
    }

    pub(super) fn set_open(&mut self, open: bool, now_ns: u64) {
        self.sampled_ns = self.seen(now_ns).0;
        self.open_since_ns = open.then_some(now_ns);
    }
}
