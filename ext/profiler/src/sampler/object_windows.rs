//! Sessions that sample objects now and then, as the hook on allocation costs for each object. The caller decides when.
//!
//! No interval makes that hook cheaper. So a continuous session samples objects in whole periods, which
//! `lib/profiler/periods/object_windows.rb` chooses from the VM's own count of objects. In the others the hook is off.
//! A window that opened in the middle of work would not see the bulk of it, as hooks come where Ruby checks its
//! interrupts.

use profiler_core::pipeline::hub::Hub;
use profiler_core::pipeline::SessionId;

use crate::threads::Registry;

/// The times in which a session samples objects, where it does not do so all the time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObjectWindows {
    /// When this was noted first, on the monotonic clock.
    begun_ns: u64,
    /// When the present window was opened.
    open_since_ns: Option<u64>,
    /// The length of the windows before it, ns.
    sampled_ns: u64,
}

impl ObjectWindows {
    /// The windows of a session that begins at `now_ns`. None is open.
    pub(super) fn begin(hub: &Hub, session: SessionId, now_ns: u64) -> Self {
        hub.rest_objects(session, &Registry, true);
        Self::noted_from(now_ns)
    }

    fn noted_from(now_ns: u64) -> Self {
        Self { begun_ns: now_ns, open_since_ns: None, sampled_ns: 0 }
    }

    pub(super) fn is_open(&self) -> bool {
        self.open_since_ns.is_some()
    }

    /// The time that was seen up to `now_ns`, and all of it, ns.
    pub(super) fn seen(&self, now_ns: u64) -> (u64, u64) {
        let open_ns = self.open_since_ns.map_or(0, |since| now_ns.saturating_sub(since));
        (self.sampled_ns + open_ns, now_ns.saturating_sub(self.begun_ns))
    }

    /// The same windows, noted from `now_ns` on.
    pub(super) fn next(&self, now_ns: u64) -> Self {
        Self { open_since_ns: self.open_since_ns.map(|_| now_ns), ..Self::noted_from(now_ns) }
    }

    pub(super) fn set_open(&mut self, open: bool, now_ns: u64) {
        self.sampled_ns = self.seen(now_ns).0;
        self.open_since_ns = open.then_some(now_ns);
    }
}
