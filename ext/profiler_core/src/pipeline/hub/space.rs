//! Records that make space for themselves, because no later tick could carry what they say.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::{Hub, PATIENCE, PAUSE};
use crate::pipeline::registry::ThreadRegistry;
use crate::record::counters::count;
use crate::record::ring::Full;

impl Hub {
    /// Calls `push` until the record has space in the ring, and drains the ring in between. Returns false if
    /// there never is any. That happens when a producer was jumped out of: its record is never published, and
    /// in the end all space is behind it. It is waited for once. After that, records are counted as dropped
    /// at once, as the caller may hold the GVL.
    pub fn push_draining(
        &self,
        registry: &dyn ThreadRegistry,
        mut push: impl FnMut() -> Result<(), Full>,
    ) -> bool {
        let mut waiting: Option<(u64, Instant)> = None;
        while push().is_err() {
            self.drain_batch(registry);
            let at = self.ring.oldest();
            let begun = match waiting {
                Some((before, begun)) if before == at => begun,
                _ => waiting.insert((at, Instant::now())).1,
            };
            if at == self.given_up.load(Ordering::Relaxed) {
                count(&self.counters.dropped_full);
                return false;
            }
            if begun.elapsed() > PATIENCE {
                self.given_up.store(at, Ordering::Relaxed);
            } else if begun.elapsed() > PAUSE {
                std::thread::sleep(PAUSE);
            }
        }
        true
    }
}
