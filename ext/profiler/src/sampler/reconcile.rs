//! The upkeep for the present sessions: collector thread, timers, hooks.
//!
//! The last session removes timers and hooks. For the next session only the handler, the mark root, the fork
//! hooks, the collector and, if it was needed, the ticker are kept; the two threads sleep. Keeping timers and
//! hooks between two requests saved 6 to 15 us of the 80 that a recorded request costs. That is 0.5 % of a
//! request of 2 ms: too little to justify a second state of the sampler.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use profiler_core::pipeline::collector::{Collector, Worker};
use profiler_core::pipeline::hub::Hub;
use profiler_core::pipeline::SessionId;
use profiler_core::ticking::plan::Plan;

use crate::before_3_3;
use crate::capture::{allocation, gc, malloc, wait};
use crate::engine::setitimer;
use crate::labels;
use crate::sampler::collection::Collection;
use crate::sampler::cpu_waits::{self, CpuWaits};
use crate::sampler::readings::{COLLECTOR_ID, COLLECTOR_NS};
use crate::sampler::state::{lock, try_lock, Sampler};
use crate::sampler::tick_request::TickRequest;
use crate::sampler::{governor, thread_hooks, timers};
use crate::shared::CAPTURE;
use crate::sys::{clock, native_thread, sigprof};
use crate::threads::{self, Registry};
use crate::vm::allocations::LARGEST_SLOT;

/// True if a bug ended the collector thread. Sessions then drain the ring by themselves at stop, so they
/// still end well.
static COLLECTOR_FAILED: AtomicBool = AtomicBool::new(false);

/// Returns whether the collector thread has died.
pub(crate) fn collector_failed() -> bool {
    COLLECTOR_FAILED.load(Ordering::Relaxed)
}

impl Sampler {
    pub(super) fn collector(&mut self, hub: &'static Hub) -> Result<(), std::io::Error> {
        if self.collector.is_some() {
            return Ok(());
        }
        let body = move |worker: Worker| {
            COLLECTOR_ID.store(native_thread::native_id(), Ordering::Relaxed);
            let receives = Cell::new(false);
            let housekeeping = || {
                setitimer::receive_here(&receives);
                let next_pause = timers::upgrade_timers();
                COLLECTOR_NS.store(clock::thread_cpu_ns(), Ordering::Relaxed);
                governor::govern();
                read_first_cpu_waits();
                give_up_if_taken();
                malloc::redirected::look_for_new();
                next_pause
            };
            let work = || worker.work(hub, &Registry, &housekeeping);
            if std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err() {
                COLLECTOR_FAILED.store(true, Ordering::Relaxed);
            }
        };
        COLLECTOR_NS.store(0, Ordering::Relaxed);
        let named = || std::thread::Builder::new().name("profiler".into());
        let spawn = |worker| named().spawn(move || body(worker)).map(|it| it.thread().clone());
        let collector = sigprof::without_signals(|| Collector::start(spawn))?;
        CAPTURE.set_collector(Box::leak(Box::new(collector.thread().clone())));
        self.collector = Some(collector);
        Ok(())
    }

    pub(super) fn wake(&self) {
        // Release pairs with the Acquire in the handler.
        CAPTURE.enabled.store(true, Ordering::Release);
        if let Some(collector) = self.collector.as_ref().filter(|_| self.has_samples()) {
            collector.run();
        }
    }

    /// Returns whether a session gets samples, which some thread has to drain.
    pub(super) fn has_samples(&self) -> bool {
        self.ticks.iter().any(TickRequest::has_samples)
    }

    /// Removes ticks, with their collection.
    pub(super) fn remove(&mut self, id: SessionId) -> Option<(TickRequest, Collection)> {
        let index = self.ticks.iter().position(|it| it.id == id)?;
        Some((self.ticks.remove(index), self.remove_collection(id)?))
    }

    /// Applies the demand of all sessions for samples of objects, and for the live ones among these.
    pub(super) fn apply_object_demand(&self) {
        let sampling = || self.ticks.iter().filter(|it| it.samples_objects());
        let active = || sampling().filter(|it| !it.paused);
        allocation::apply(allocation::ObjectDemand {
            every: active().map(|it| it.every).reduce(|one, other| one.finest(other, LARGEST_SLOT)),
            timed: active().any(|it| it.timeline),
            heap: sampling().any(|it| it.measures.heap),
        });
    }

    /// Applies the demand of all sessions for samples of memory. The finest one gives its rate to all, as each
    /// sample carries its weight.
    pub(super) fn apply_memory_demand(&self) {
        let sampling = || self.ticks.iter().filter(|it| it.measures.native);
        let rates = sampling().filter(|it| !it.paused).map(|it| it.every.size());
        malloc::redirected::apply(malloc::redirected::MallocDemand {
            every_bytes: rates.min().unwrap_or(0),
            tracks: sampling().next().is_some(),
        });
    }

    /// Returns the plan of the timers that the sessions need now.
    pub(super) fn plan(&self) -> Plan<'_> {
        let running = self.ticks.iter().filter(|it| !it.paused);
        let demands = running.map(|it| it.demand(&self.governor));
        Plan::new(demands, self.engine, !before_3_3::NEEDED)
    }

    /// Sets the timers that the sessions need now.
    ///
    /// # Errors
    /// Same as for [`timers::apply`].
    pub(super) fn apply_timers(&mut self) -> Result<(), i32> {
        self.regovern();
        timers::apply(&self.plan())
    }

    /// Adjusts timers, hooks and collector to the needs of the present sessions.
    pub(super) fn reconcile(&mut self) {
        self.apply_object_demand();
        self.apply_memory_demand();
        if self.ticks.is_empty() && self.starting == 0 {
            self.regovern();
            stop_ticks();
            thread_hooks::hooks_off();
            gc::unhook();
            wait::unhook();
            labels::sessions_end();
            threads::clear();
            if let Some(collector) = &self.collector {
                collector.rest();
            }
        } else {
            // A thread that gets no timer is counted.
            let _ = self.apply_timers();
            if let Some(collector) =
                self.collector.as_ref().filter(|_| !self.has_samples() && self.starting == 0)
            {
                collector.rest();
            }
        }
    }
}

/// Takes the first readings for sessions that have none. For the collector, without the GVL.
fn read_first_cpu_waits() {
    let asks = |it: &TickRequest| matches!(it.cpu_waits, CpuWaits::Asked);
    if !try_lock().is_some_and(|sampler| sampler.ticks.iter().any(asks)) {
        return;
    }
    let now = cpu_waits::WaitReadings::now(); // without the lock, which a thread with the GVL may wait for
    if let Some(mut sampler) = try_lock() {
        for ticks in sampler.ticks.iter_mut().filter(|it| asks(it)) {
            ticks.cpu_waits = CpuWaits::Since(now.clone());
        }
    }
}

/// Ends all ticks. A tick that is on its way finds capture off.
pub(crate) fn stop_ticks() {
    CAPTURE.enabled.store(false, Ordering::Release);
    timers::disarm_all();
}

/// Gives up all sessions that measure time, as when other code claims SIGPROF. They keep what they have
/// recorded. Runs on any thread, with or without the GVL.
pub(crate) fn give_up(why: &'static str) {
    give_up_in(&mut lock(), why);
}

/// Gives up these sessions if SIGPROF has another handler. The lock makes the check reliable: a session that
/// begins meanwhile installs our handler under it.
fn give_up_if_taken() {
    let is_ours = || sigprof::owner() == sigprof::SignalOwner::Us;
    if is_ours() {
        return;
    }
    let mut sampler = lock();
    if !is_ours() {
        give_up_in(&mut sampler, "SIGPROF was given another handler");
    }
}

fn give_up_in(sampler: &mut Sampler, why: &'static str) {
    let Some(hub) = CAPTURE.hub() else { return };
    let Sampler { ticks, collections, .. } = sampler;
    let mut timed = ticks.iter_mut().filter(|it| it.measures.timed()).peekable();
    if timed.peek().is_none() {
        return;
    }
    stop_ticks();
    for ticks in timed.filter(|it| it.given_up.is_none()) {
        ticks.given_up = Some(why);
        if !ticks.paused {
            ticks.refuse_slices();
            let id = ticks.id;
            for collection in collections.iter_mut().filter(|it| it.ticks_of == id) {
                ticks.pause(collection, hub);
            }
        }
    }
}
