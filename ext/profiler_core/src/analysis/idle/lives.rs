//! How long each thread lived, and whether it is idle in a wait.

use std::collections::{BTreeMap, BTreeSet};

use super::{Wait, Waits};
use crate::analysis::sites::Sites;
use crate::analysis::wait_cause::{Cause, Causes};
use crate::profile::{Profile, SampleType};
use crate::record::State;

/// The part of a thread's wall clock that a wait must exceed for the thread to be idle in it.
const MIN_IDLE_SHARE: f64 = 0.95;
/// A thread with less than this part of the profile's time has ended, or is in the profile only for some
/// requests.
const MIN_LIFE_SHARE: f64 = 0.5;
/// A thread that waits for work for less than this part of its life is not idle: it worked.
const MIN_WAITING_SHARE: f64 = 0.05;

/// The times of a profile's threads.
pub(super) struct Lives {
    /// The time of each thread, ns.
    by_thread: BTreeMap<usize, Life>,
    /// The threads with code of the app.
    in_app: BTreeSet<usize>,
    pub(super) all_ns: u64,
    /// The length of the profile.
    duration_ns: u64,
}

/// The time of a thread, ns.
#[derive(Clone, Copy, Default)]
struct Life {
    whole_ns: u64,
    /// The time in which it could not run but wanted to: it had no CPU or no GVL. How busy others are says
    /// nothing about this thread.
    held_up_ns: u64,
}

impl Life {
    fn own_ns(self) -> f64 {
        self.whole_ns.saturating_sub(self.held_up_ns) as f64
    }
}

impl Lives {
    pub(super) fn of(profile: &Profile, sites: &Sites<'_>, causes: &Causes<'_>) -> Self {
        let mut by_thread: BTreeMap<usize, Life> = BTreeMap::new();
        let mut in_app = BTreeSet::new();
        let mut all_ns: u64 = 0;
        for sample in &profile.samples {
            let wall_ns = sample.weights.get(SampleType::Wall);
            let life = by_thread.entry(sample.thread).or_default();
            life.whole_ns = life.whole_ns.saturating_add(wall_ns);
            let is_held_up = match sample.state {
                State::Runnable | State::Gvl => true,
                State::Waiting => causes.cause(sites, sample.stack) == Cause::HeldUp,
                State::Running | State::Blocked | State::Gc => false,
            };
            if is_held_up {
                life.held_up_ns = life.held_up_ns.saturating_add(wall_ns);
            }
            all_ns = all_ns.saturating_add(wall_ns);
            if sites.app(sample.stack).is_some() {
                in_app.insert(sample.thread);
            }
        }
        Self { by_thread, in_app, all_ns, duration_ns: profile.meta.duration_ns }
    }

    /// Returns whether the thread is idle in the wait, unless that is for the end of threads.
    pub(super) fn is_idle(&self, thread: usize, wait: &Wait) -> bool {
        let only_waits = self.only_waits(thread, wait);
        let is_outside_app = !self.in_app.is_empty() && !wait.in_app;
        if !wait.is_main {
            return only_waits || is_outside_app;
        }
        // The rest concerns the main thread.
        let others_work = self.in_app.iter().any(|it| *it != thread);
        match wait.cause {
            Cause::Connection => only_waits || is_outside_app,
            Cause::Event | Cause::Queue | Cause::Process => is_outside_app,
            Cause::Io | Cause::Sleep => is_outside_app && others_work,
            _ => false,
        }
    }

    /// Returns whether a thread that waits for others does nothing else. Others that were busy for `busy_ns`
    /// did the work.
    pub(super) fn is_idle_joining(&self, thread: usize, wait: &Wait, busy_ns: u64) -> bool {
        let others_worked = busy_ns >= wait.wall_ns / 2;
        others_worked || self.only_waits(thread, wait) || (!self.in_app.is_empty() && !wait.in_app)
    }

    /// Removes the waits of threads that waited for only a small part of their lives.
    pub(super) fn retain_idle(&self, waits: &mut Waits) {
        let mut idle_ns: BTreeMap<usize, u64> = BTreeMap::new();
        for ((thread, ..), wait) in waits.iter() {
            *idle_ns.entry(*thread).or_default() += wait.wall_ns;
        }
        let least_ns = |thread: &usize| self.life(*thread).own_ns() * MIN_WAITING_SHARE;
        let is_enough = |(thread, idle): (&usize, &u64)| *idle as f64 >= least_ns(thread);
        waits.retain(|(thread, ..), _| idle_ns.get_key_value(thread).is_some_and(is_enough));
    }

    /// Returns whether this wait takes nearly all of the thread's life. If it does not wait for work, the
    /// thread has to live for most of the profile.
    fn only_waits(&self, thread: usize, wait: &Wait) -> bool {
        let life = self.life(thread);
        let is_whole = life.whole_ns as f64 >= self.duration_ns as f64 * MIN_LIFE_SHARE;
        (is_whole || (wait.cause.is_for_work() && !wait.is_main))
            && wait.wall_ns as f64 > life.own_ns() * MIN_IDLE_SHARE
    }

    fn life(&self, thread: usize) -> Life {
        self.by_thread.get(&thread).copied().unwrap_or_default()
    }
}
