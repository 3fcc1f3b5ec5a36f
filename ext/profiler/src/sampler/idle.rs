//! The idle state after the last session. Where each request has a session, the next one begins soon. To remove timers, hooks
//! and the registry and to restore them is half of what such a session costs between two requests, as none of that code is
//! in the caches.
//!
//! In the idle state no timer fires and nothing is captured, but the starts and exits of threads are noted.

use std::sync::atomic::Ordering;

use crate::capture::wait;
use crate::sampler::active::Active;
use crate::sampler::state::{lock, Sampler};
use crate::sampler::timers;
use crate::shared::CAPTURE;
use crate::threads;
use profiler_core::session::engine::Engine;

impl Sampler {
    /// Settles down after `ended`, and changes as little as possible if it was the session of a request and no other runs.
    /// Hooks on waits and on objects are not free, and other engines have no timers that could be paused.
    pub(super) fn reconcile_after(&mut self, ended: &Active) {
        let last_of_requests = ended.scope.is_some() && self.is_idle();
        let of_cpu = !ended.measures.wall && !ended.measures.objects() && !wait::on_gvl_hooked();
        if last_of_requests && of_cpu && self.engine == Engine::ThreadTimer {
            CAPTURE.enabled.store(false, Ordering::Release);
            timers::pause_all();
        } else {
            self.reconcile();
        }
    }

    /// Whether idle resources are still held.
    pub(super) fn is_idle(&self) -> bool {
        self.sessions.is_empty() && self.starting == 0 && threads::hooked()
    }
}

/// Releases the idle resources, as no request is expected any more. Needs the GVL, and must not run inside a hook.
pub(crate) fn release_idle() {
    let mut sampler = lock();
    if sampler.is_idle() {
        sampler.reconcile();
    }
}
