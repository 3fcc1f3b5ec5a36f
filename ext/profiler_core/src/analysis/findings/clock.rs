//! The time that findings are shares of, and how each row uses it.

use std::collections::BTreeSet;

use super::{Finding, FindingKind};
use crate::analysis::idle::Idle;
use crate::analysis::loading::{Load, Loads};
use crate::analysis::serving::Handlers;
use crate::analysis::sites::Sites;
use crate::analysis::wait_cause::{Cause, Causes};
use crate::profile::{Frame, Profile, Sample, SampleType};
use crate::record::State;

/// The part of the time after loading that requests or jobs must take for the program to be a server.
const SERVES: f64 = 0.2;

/// The time of a profile: wall clock time that was not idle, or else CPU time, or else samples.
pub(super) struct Clock<'profile> {
    profile: &'profile Profile,
    /// The use of the time, by row.
    parts: Vec<TimeUse>,
    /// The sample type.
    pub(super) of: SampleType,
    /// The time that shares refer to; 0 in a profile of objects alone, whose samples are not time.
    pub(super) total: u64,
    /// Whether the weights are time.
    pub(super) is_timed: bool,
    /// The part of the waits for the GVL in which its holder had a CPU, 0 to 1.
    had_cpu: f64,
    /// Whether the program is a server: it handled requests or jobs.
    pub(super) serves: bool,
    /// Whether a limit of the cgroup was in force, in which case time without a CPU is part of the total.
    pub(super) is_throttled: bool,
}

/// The use of a row's time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TimeUse {
    /// An idle wait, and the wait for the GVL after it.
    Idle,
    /// Ready to run but without a CPU.
    NoCpu,
    /// Loading code, in any state.
    Loading(Load),
    /// Loading code of a server and starting its app, before its requests.
    Starting,
    /// Running, with or without the GVL.
    Running,
    /// Waiting.
    Waiting(Cause),
    /// Waiting in C code that holds the GVL.
    Blocked,
    /// Waiting for the GVL.
    Gvl,
    /// Collecting garbage.
    Gc,
}

impl<'profile> Clock<'profile> {
    pub(super) fn of(profile: &'profile Profile, sites: &Sites<'_>, idle: &Idle) -> Self {
        let timed =
            [SampleType::Wall, SampleType::Cpu].into_iter().find(|it| profile.sample_types.contains(it));
        let (loads, causes) = (Loads::of(profile, sites), Causes::of(profile, sites));
        let app = profile.samples.iter().filter(|sample| sites.app(sample.stack).is_some());
        let threads_of_app: BTreeSet<_> = app.map(|sample| sample.thread).collect();
        let part = |(row, sample): (usize, &Sample)| {
            if idle.has(row) {
                return TimeUse::Idle;
            }
            let own = match sample.state {
                State::Running => TimeUse::Running,
                State::Gc => TimeUse::Gc,
                State::Blocked => TimeUse::Blocked,
                // A thread that never runs code of the app, such as one that watches connections, delays nobody.
                // Before a thread with such code reads a request, its wait is the request's.
                State::Gvl
                    if !threads_of_app.is_empty()
                        && !threads_of_app.contains(&sample.thread)
                        && sites.is_in_library(sample.stack) =>
                {
                    return TimeUse::Idle;
                }
                State::Gvl => return TimeUse::Gvl,
                State::Runnable => return TimeUse::NoCpu,
                State::Waiting => match causes.cause(sites, sample.stack) {
                    Cause::HeldUp => return TimeUse::NoCpu,
                    Cause::Computing => TimeUse::Running,
                    cause @ (Cause::Io | Cause::Other) => TimeUse::Waiting(cause),
                    cause => return TimeUse::Waiting(cause),
                },
            };
            loads.at(sample.stack).map_or(own, TimeUse::Loading)
        };
        let parts = profile.samples.iter().enumerate().map(part).collect();
        let of = timed.unwrap_or(SampleType::Samples);
        let mut clock = Self {
            profile,
            parts,
            of,
            total: 0,
            is_timed: timed.is_some(),
            had_cpu: 1.0,
            serves: false,
            is_throttled: false,
        };
        let handlers = Handlers::of(profile);
        clock.serves = profile.requests.count() > 0 || clock.handles_requests(&handlers);
        if clock.serves {
            let rows = clock.parts.iter_mut().zip(&profile.samples);
            let is_start = |part: &TimeUse, stack| match part {
                TimeUse::Idle | TimeUse::NoCpu => false,
                TimeUse::Loading(_) => !handlers.has(stack),
                _ => handlers.starts(stack),
            };
            rows.filter(|(part, it)| is_start(part, it.stack))
                .for_each(|(part, _)| *part = TimeUse::Starting);
        }
        let without_cpu = clock.weight(|it| *it == TimeUse::NoCpu);
        clock.is_throttled = profile.stats.throttled_ns > 0 && profile.stats.throttled_ns >= without_cpu / 2;
        if !clock.is_throttled {
            let ran = profile.samples.iter().filter(|it| matches!(it.state, State::Running | State::Gc));
            let ran = ran.fold(0_u64, |sum, it| sum.saturating_add(it.weights.get(of)));
            clock.had_cpu =
                if without_cpu > 0 { ran as f64 / (ran as f64 + without_cpu as f64) } else { 1.0 };
        }
        if clock.is_timed || !profile.sample_types.contains(&SampleType::AllocObjects) {
            clock.total = clock.weight(|it| clock.is_counted(it));
        }
        clock
    }

    /// Returns whether shares refer to this time: time that the program had, and used for its work.
    fn is_counted(&self, part: &TimeUse) -> bool {
        match part {
            TimeUse::Idle | TimeUse::Starting => false,
            TimeUse::NoCpu => self.is_throttled,
            TimeUse::Loading(_)
            | TimeUse::Running
            | TimeUse::Waiting(_)
            | TimeUse::Blocked
            | TimeUse::Gvl
            | TimeUse::Gc => true,
        }
    }

    /// Returns whether requests or jobs took enough of the time after loading. The rest of it may be a server's
    /// start: initializers run for seconds, and a profile of a few requests is the profile of a server.
    fn handles_requests(&self, handlers: &Handlers<'_>) -> bool {
        let (mut all, mut served): (u64, u64) = (0, 0);
        for (sample, part, weight) in self.rows() {
            let is_start = matches!(part, TimeUse::Loading(_)) || handlers.starts(sample.stack);
            if !is_start && !matches!(part, TimeUse::Idle | TimeUse::NoCpu) {
                super::add(&mut all, weight);
                super::add(&mut served, if handlers.has(sample.stack) { weight } else { 0 });
            }
        }
        served > 0 && served as f64 >= all as f64 * SERVES
    }

    /// Iterates over the rows that have weight, with their parts and weights. On a busy machine, threads also
    /// wait for the GVL while its holder has no CPU. That part of their waits is left out, as the time without
    /// a CPU is.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&'profile Sample, &TimeUse, u64)> + '_ {
        let weight = |sample: &Sample, part: &TimeUse| match (sample.weights.get(self.of), part) {
            (weight, TimeUse::Gvl) => (weight as f64 * self.had_cpu).round() as u64,
            (weight, _) => weight,
        };
        let rows = self.profile.samples.iter().zip(&self.parts);
        rows.map(move |(sample, part)| (sample, part, weight(sample, part))).filter(|it| it.2 > 0)
    }

    /// Returns the rows of the profile in which code was loaded.
    pub(super) fn loading_rows(&self) -> Vec<usize> {
        let rows = self.parts.iter().enumerate();
        rows.filter(|(_, part)| matches!(part, TimeUse::Loading(_))).map(|(row, _)| row).collect()
    }

    /// Returns the weight of some parts.
    pub(super) fn weight(&self, is: impl Fn(&TimeUse) -> bool) -> u64 {
        self.rows().filter(|(_, part, _)| is(part)).fold(0_u64, |sum, (.., ns)| sum.saturating_add(ns))
    }

    pub(super) fn share(&self, weight: u64) -> f64 {
        weight as f64 / self.total.max(1) as f64
    }

    /// Returns whether the weight is enough of the time for a finding.
    pub(super) fn is_significant(&self, weight: u64) -> bool {
        weight > 0 && self.share(weight) >= super::MIN_SHARE
    }

    /// Returns a finding on a part of this time.
    pub(super) fn finding(
        &self,
        kind: FindingKind,
        text: String,
        weight: u64,
        place: Option<Frame>,
        command: String,
    ) -> Finding {
        Finding { kind, text, weight, of: self.of, share: Some(self.share(weight)), place, command }
    }
}
