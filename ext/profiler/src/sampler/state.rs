//! The state of the sampler, and its lock.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use profiler_core::pipeline::collector::Collector;
use profiler_core::pipeline::SessionId;

use crate::sampler::active::Active;
use crate::sampler::cumulative::Cumulative;
use crate::sampler::slice::Slice;
use profiler_core::ticking::engine::Engine;
use profiler_core::ticking::governor::Governor;

/// The state of the sampler, which its lock guards.
#[derive(Debug)]
pub(crate) struct Sampler {
    pub(super) collector: Option<Collector>,
    pub(crate) sessions: Vec<Active>,
    /// The slices of these sessions.
    pub(super) slices: Vec<Slice>,
    /// Sessions that are being started, while the VM lists its threads.
    pub(super) starting: usize,
    /// The engine of all sessions.
    pub(crate) engine: Engine,
    /// Widens the intervals of sessions that have a largest overhead.
    pub(super) governor: Governor,
    /// The least share and the finest interval of these sessions, if there are any.
    pub(super) governed: Option<(f64, u64)>,
    /// The part of the totals that is the parent's.
    pub(super) inherited: Cumulative,
}

static SAMPLER: Mutex<Sampler> = Mutex::new(Sampler {
    collector: None,
    sessions: Vec::new(),
    slices: Vec::new(),
    starting: 0,
    engine: Engine::ThreadTimer,
    governor: Governor::new(),
    governed: None,
    inherited: Cumulative::nothing(),
});

impl Sampler {
    pub(super) fn find(&mut self, id: SessionId) -> Option<&mut Active> {
        self.sessions.iter_mut().find(|it| it.id == id)
    }
}

pub(crate) fn lock() -> MutexGuard<'static, Sampler> {
    SAMPLER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The lock, unless somebody holds it.
pub(crate) fn try_lock() -> Option<MutexGuard<'static, Sampler>> {
    match SAMPLER.try_lock() {
        Ok(sampler) => Some(sampler),
        Err(TryLockError::Poisoned(sampler)) => Some(sampler.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}
