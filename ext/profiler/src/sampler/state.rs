//! The state of the sampler, and its lock.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use profiler_core::pipeline::collector::Collector;
use profiler_core::pipeline::SessionId;

use crate::sampler::collection::Collection;
use crate::sampler::cumulative::Cumulative;
use crate::sampler::tick_request::TickRequest;
use profiler_core::ticking::engine::Engine;
use profiler_core::ticking::governor::Governor;

/// The state of the sampler, which its lock guards.
#[derive(Debug)]
pub(crate) struct Sampler {
    pub(super) collector: Option<Collector>,
    pub(crate) ticks: Vec<TickRequest>,
    /// The collections: one for each entry of `ticks`, and the slices.
    pub(super) collections: Vec<Collection>,
    /// The number of sessions that are being started, while the VM lists its threads.
    pub(super) starting: usize,
    /// The engine of all sessions.
    pub(crate) engine: Engine,
    /// The governor, which widens the intervals of sessions with a `max_overhead`.
    pub(super) governor: Governor,
    /// The smallest `max_overhead` and the finest interval of these sessions, if there are any.
    pub(super) governed: Option<(f64, u64)>,
    /// The part of the totals that belongs to the parent.
    pub(super) inherited: Cumulative,
}

static SAMPLER: Mutex<Sampler> = Mutex::new(Sampler {
    collector: None,
    ticks: Vec::new(),
    collections: Vec::new(),
    starting: 0,
    engine: Engine::ThreadTimer,
    governor: Governor::new(),
    governed: None,
    inherited: Cumulative::nothing(),
});

impl Sampler {
    /// Returns the ticks with that id.
    pub(super) fn ticks(&mut self, id: SessionId) -> Option<&mut TickRequest> {
        self.ticks.iter_mut().find(|it| it.id == id)
    }

    /// Returns a collection with its ticks.
    pub(super) fn find(&mut self, id: SessionId) -> Option<(&mut TickRequest, &mut Collection)> {
        let collection = self.collections.iter_mut().find(|it| it.id == id)?;
        let ticks = self.ticks.iter_mut().find(|it| it.id == collection.ticks_of)?;
        Some((ticks, collection))
    }

    /// Iterates over the collections, each with its ticks.
    pub(super) fn each(&mut self) -> impl Iterator<Item = (&TickRequest, &mut Collection)> {
        let Self { ticks, collections, .. } = self;
        let with_ticks = |it: &'_ Collection| ticks.iter().find(|ticks| ticks.id == it.ticks_of);
        collections.iter_mut().filter_map(move |it| Some((with_ticks(it)?, it)))
    }

    /// Removes a collection.
    pub(super) fn remove_collection(&mut self, id: SessionId) -> Option<Collection> {
        let index = self.collections.iter().position(|it| it.id == id)?;
        Some(self.collections.swap_remove(index))
    }
}

pub(crate) fn lock() -> MutexGuard<'static, Sampler> {
    SAMPLER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the lock, unless another thread holds it.
pub(crate) fn try_lock() -> Option<MutexGuard<'static, Sampler>> {
    match SAMPLER.try_lock() {
        Ok(sampler) => Some(sampler),
        Err(TryLockError::Poisoned(sampler)) => Some(sampler.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}
