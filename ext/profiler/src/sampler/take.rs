//! The result of a session: at its end, since its last rotation, or so far.

use magnus::Ruby;
use profiler_core::pipeline::hub::Hub;
use profiler_core::pipeline::SessionId;
use profiler_core::profile::{Requests, Stats};
use profiler_core::result::taken::{Take, Taken, Unresolved};
use profiler_core::sampling::live_objects::LiveObject;

use crate::capture::malloc;
use crate::naming::turns::Pace;
use crate::sampler::collection::Collection;
use crate::sampler::fork::enter;
use crate::sampler::markers::Markers;
use crate::sampler::readings::ProcessReadings;
use crate::sampler::reconcile::stop_ticks;
use crate::sampler::settle::PartEnd;
use crate::sampler::tables;
use crate::sampler::tick_request::TickRequest;
use crate::shared::CAPTURE;
use crate::sys::clock;
use crate::threads::Registry;
use crate::vm::threads::RubyThread;
use crate::vm::without_gvl::briefly_without_gvl;
use profiler_core::ticking::engine::Engine;

/// Returns the result of a session, whose stacks are copied out of the tables of the process, and the facts
/// that the header of its profile needs. `named` are the threads as Ruby lists them, `settled` is where the
/// session was settled, if it was, and `owned` are the live blocks with their owners, if these were looked
/// for. Returns `None` if the session is over.
pub(crate) fn take(
    ruby: &Ruby,
    session: SessionId,
    named: &[RubyThread],
    how: Take,
    pace: Pace,
    settled: Option<PartEnd>,
    owned: Option<Vec<LiveObject>>,
) -> Option<(Unresolved, SessionFacts)> {
    let hub = CAPTURE.hub()?;
    let (taken, facts) = take_sums(hub, session, named, how, settled, owned)?;
    let copied = match pace {
        Pace::AtOnce => hub.copy(taken),
        Pace::Yielding => briefly_without_gvl(ruby, || hub.copy(taken)),
    };
    tables::renew(hub, copied.needed);
    Some((copied, facts))
}

fn take_sums(
    hub: &Hub,
    session: SessionId,
    named: &[RubyThread],
    how: Take,
    settled: Option<PartEnd>,
    owned: Option<Vec<LiveObject>>,
) -> Option<(Taken, SessionFacts)> {
    let mut sampler = enter();
    let (engine, governor) = (sampler.engine, sampler.governor);
    if how == Take::Close {
        sampler.discard_slices_of(session, hub);
    }
    let is_last = sampler.ticks.len() == 1;
    let (ticks, collection) = sampler.find(session)?;
    let is_slice = collection.is_slice();
    ticks.record_open_waits(hub, named, collection.scope);
    if !is_slice {
        ticks.record_live_objects(hub, owned);
    }
    let lives = ticks.thread_lives(named);
    if how == Take::Close && !is_slice && is_last {
        stop_ticks();
    }
    let taken = hub.take(session, &Registry, &lives, how, clock::monotonic_ns());
    let end = settled.unwrap_or_else(|| PartEnd::now(hub, ticks, collection));
    let facts = SessionFacts::new(ticks, collection, &end, engine);
    match how {
        Take::Close if is_slice => {
            let of = ticks.id;
            sampler.remove_collection(session);
            sampler.end_with_slices(of, hub);
        }
        Take::Close => {
            sampler.remove(session)?;
            sampler.reconcile();
        }
        Take::Snapshot => {}
        Take::Rotate => {
            collection.rotate(end.readings, ticks.ticks_each_ns(&governor));
            ticks.rotate(&end.readings, end.next_cpu_waits);
        }
    }
    Some((taken?, facts))
}

/// The facts of a session for the header of its profile.
#[derive(Debug)]
pub(crate) struct SessionFacts {
    pub(crate) start: ProcessReadings,
    /// The overhead until the result was taken: resolving names in Ruby allocates objects and takes time.
    pub(crate) cost: Stats,
    pub(crate) engine: Engine,
    pub(crate) given_up: Option<&'static str>,
    pub(crate) no_objects: Option<&'static str>,
    pub(crate) untracked: u64,
    /// The numbers of libraries in which malloc was seen, and could not be seen, if memory was sampled.
    pub(crate) malloc_seen: Option<(u64, u64)>,
    /// The number of label sets that were not kept apart.
    pub(crate) labels_refused: u64,
    /// The longest interval in nanoseconds at which the session has ticked.
    pub(crate) widest_ns: u64,
    pub(crate) markers: Markers,
    pub(crate) requests: Requests,
    /// The time during which the session was paused, in nanoseconds.
    pub(crate) paused_ns: u64,
    /// The time within object windows and the whole time, in nanoseconds, if the session has windows.
    pub(crate) object_windows: Option<(u64, u64)>,
}

impl SessionFacts {
    /// Collects the facts at `end`.
    fn new(ticks: &TickRequest, collection: &Collection, end: &PartEnd, engine: Engine) -> Self {
        let start = collection.start;
        Self {
            start,
            cost: cost(&start, &end.readings, end.cpu_waits),
            engine,
            given_up: ticks.given_up,
            no_objects: ticks.no_objects,
            untracked: ticks.untracked,
            malloc_seen: ticks.measures.native.then(malloc::redirected::seen),
            labels_refused: end.readings.labels_refused.saturating_sub(start.labels_refused),
            widest_ns: collection.widest_ns,
            markers: collection.markers.clone(),
            requests: collection.requests.clone(),
            paused_ns: collection.pauses.until(end.monotonic_ns()),
            object_windows: end.object_windows,
        }
    }
}

/// Returns the fate and the overhead of the ticks, from start to end. If a session covers the whole process,
/// `unseen_cpu_ns` is all CPU time that the process used except that of our own threads.
fn cost(start: &ProcessReadings, end: &ProcessReadings, cpu_waits: (u64, u64)) -> Stats {
    let collector_ns = end.collector_ns.saturating_sub(start.collector_ns);
    let since =
        |then: Option<u64>, now: Option<u64>| now.zip(then).map_or(0, |(now, then)| now.saturating_sub(then));
    let process_ns = end.process_cpu_ns.zip(start.process_cpu_ns).map(|(now, then)| now.saturating_sub(then));
    let own_objects = end.own_objects.saturating_sub(start.own_objects);
    Stats {
        counts: end.counts.since(&start.counts),
        handler_ns: end.handler_ns.saturating_sub(start.handler_ns),
        collector_ns,
        unseen_cpu_ns: process_ns.map_or(0, |it| it.saturating_sub(collector_ns).max(1)),
        run_delay_ns: cpu_waits.0,
        throttled_ns: cpu_waits.1,
        vm_objects: since(start.vm_objects, end.vm_objects).saturating_sub(own_objects),
        ..Stats::default()
    }
}
