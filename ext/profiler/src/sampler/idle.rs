//! The idle state after the last session. Where each request has one, the next comes soon, and to take timers, hooks and the registry
//! away and to bring them back is half of what such a session takes between two requests, as none of that code is in the caches.
//!
//! In the idle state no timer fires, nothing is captured, and threads that begin and end are noted.

use std::sync::atomic::Ordering;

use crate::capture::wait;
use crate::sampler::active::Active;
use crate::sampler::state::{lock, Sampler};
use crate::sampler::timers;
use crate::shared::CAPTURE;
use crate::threads;
use profiler_core::session::engine::Engine;

impl Sampler {
    /// Settles down after `ended`: as little as possible if it was the session of a request and no other runs.
    /// Waits and objects have hooks that are not free, and other engines no timers that could be paused.
    pub(super) fn settle_after(&mut self, ended: &Active) {
        let last_of_requests = ended.scope.is_some() && self.lingers();
        let of_cpu = !ended.measures.wall && !ended.measures.objects() && !wait::on_gvl_hooked();
        if last_of_requests && of_cpu && self.engine == Engine::ThreadTimer {
            CAPTURE.enabled.store(false, Ordering::Release);
            timers::pause_all();
        } else {
            self.settle_down();
        }
    }

    /// True if idle resources are still held.
    pub(super) fn lingers(&self) -> bool {
        self.sessions.is_empty() && self.starting == 0 && threads::hooked()
    }
}

/// No request is expected any more. With the GVL, and not inside a hook.
pub(crate) fn let_go() {
    let mut sampler = lock();
    if sampler.lingers() {
        sampler.settle_down();
    }
}
