//! The result of a session: its profile, with names and with the contents of the header.

use std::sync::Arc;

use magnus::{Error, Ruby};
use profiler_core::analysis::gc;
use profiler_core::analysis::trim_paths::trim_paths;
use profiler_core::profile::{Function, Meta, SampleType, Stats};
use profiler_core::sampling::allocation_sampler::Window;

use crate::api::profile::Profile;
use crate::engine::perf;
use crate::options::{self, Config, Threads};
use crate::sampler::{self, fork, Taken};
use crate::shared::CAPTURE;
use crate::sys::clock;
use crate::{naming, vm};
use profiler_core::session::engine::Engine;

/// The result of a session, before names.
#[derive(Debug)]
pub(super) struct Stopped {
    taken: Taken,
    config: Arc<Config>,
    /// Its cost, up to when it was taken, as resolving names in Ruby allocates objects and takes time.
    cost: Stats,
    /// When it was requested, on the monotonic clock.
    asked_ns: u64,
    /// The process that it is of, as nobody keeps its handles in a forked child.
    pid: u32,
}

impl Stopped {
    /// The result that was taken just now, requested at `asked_ns`.
    pub(super) fn new(taken: Taken, config: Arc<Config>, asked_ns: u64) -> Box<Self> {
        let cost = taken.cost();
        Box::new(Self { taken, config, cost, asked_ns, pid: fork::pid() })
    }

    /// Whether its functions can be named here.
    pub(super) fn is_of_this_process(&self) -> bool {
        self.pid == fork::pid()
    }

    /// Drops the result without names.
    pub(super) fn abandon(self: Box<Self>) {
        if let (true, Some(hub)) = (self.is_of_this_process(), CAPTURE.hub()) {
            hub.forget(self.taken.closed);
        }
    }

    /// The Profile of this result.
    ///
    /// # Errors
    /// Exceptions that were delivered while Ruby resolved names. The result is given back then, and can be requested again.
    pub(super) fn profile(self: Box<Self>, ruby: &Ruby) -> Result<Profile, (Box<Self>, Error)> {
        match self.ask(ruby) {
            Ok(answers) => Ok(self.answered(ruby, answers)),
            Err(arrived) => Err((self, arrived)),
        }
    }

    /// Ruby's answers to all that has to be asked. The epoch keeps the handles marked meanwhile.
    fn ask(&self, ruby: &Ruby) -> Result<Answers, Error> {
        let begun_ns = clock::monotonic_ns();
        let all = matches!(self.config.threads, Threads::All);
        let other_ractors = if all { vm::process::other_ractors(ruby)? } else { None };
        // SAFETY: they are of this process, and of an epoch that this keeps.
        let functions = unsafe { naming::functions(ruby, &self.taken.closed.unknown)? };
        Ok(Answers { functions, other_ractors, begun_ns })
    }

    fn answered(self, ruby: &Ruby, answers: Answers) -> Profile {
        let Self { taken, config, cost, asked_ns, .. } = self;
        let Taken {
            closed,
            start,
            engine,
            given_up,
            no_objects,
            unfollowed,
            labels_refused,
            mut markers,
            markers_refused,
            ..
        } = taken;
        let named = closed.unknown.iter().copied().zip(answers.functions).collect();
        let mut profile = CAPTURE.hub().map_or_else(Default::default, |hub| hub.resolve(closed, named));
        let seen_cpu_ns = profile.total().get(SampleType::Cpu);
        if let Some(roots) = &config.trim_path {
            profile = trim_paths(&profile, roots);
        }
        markers.sort_unstable();
        profile.markers = markers;
        profile.add_labels(&config.static_labels);
        profile.stats = Stats {
            stop_ns: answers.begun_ns.saturating_sub(asked_ns),
            names_ns: clock::monotonic_ns() - answers.begun_ns,
            unseen_cpu_ns: cost.unseen_cpu_ns.saturating_sub(seen_cpu_ns),
            ..cost
        };
        let mut notes = config.notes.clone();
        notes.extend(vm::process::shared_threads());
        notes.extend(answers.other_ractors);
        notes.extend(given_up.map(|why| format!("{why}: nothing was recorded from then on")));
        notes.extend(no_objects.map(|why| format!("{why}: no object was sampled from then on")));
        if unfollowed > 0 {
            notes.push(format!(
                "too many objects were live at once: {unfollowed} sampled ones count as allocated only"
            ));
        }
        let timed = config.measures.timed();
        let (engine_name, chosen) = (if timed { engine.name() } else { "" }, config.engine.name());
        match engine {
            _ if !timed || engine == config.engine => {}
            Engine::Setitimer => {
                notes.push(format!("the system gave no timer for each thread, so {engine_name} was used"));
            }
            _ => notes.push(format!(
                "engine {engine_name}, not {chosen}: other sessions had it, or the system refused"
            )),
        }
        if engine == Engine::Perf && perf::was_short_since(start.monotonic_ns) {
            notes.push(perf::SHORT_NOTE.into());
        }
        if labels_refused > 0 {
            notes.push(format!(
                "too many different sets of labels: {labels_refused} times they became (other)"
            ));
        }
        if markers_refused > 0 {
            notes.push(format!("too many markers: the last {markers_refused} were left out"));
        }
        if sampler::collector_failed() {
            notes.push(
                "the collector thread failed, so the ring may have been full (please report this)".into(),
            );
        }
        let (objects, bytes) = match config.every {
            Window::Objects(number) => (number, 0),
            Window::Bytes(number) => (0, number),
        };
        profile.meta = Meta {
            modes: options::modes(config.measures),
            engine: engine_name.into(),
            interval_ns: config.interval_ns,
            every: objects,
            every_bytes: bytes,
            started_at_ns: start.at_ns,
            duration_ns: asked_ns.saturating_sub(start.monotonic_ns),
            ruby: vm::process::description(ruby).into(),
            program: vm::process::program(ruby),
            pid: fork::pid(),
            profiler_version: env!("CARGO_PKG_VERSION").into(),
            user: config.metadata.clone(),
            notes,
            merged: None,
        };
        Profile::new(match config.gc {
            Some(place) => gc::place(&profile, place),
            None => profile,
        })
    }
}

/// Ruby's answers about names.
#[derive(Debug)]
struct Answers {
    /// The functions of the handles that had no names.
    functions: Vec<Function>,
    other_ractors: Option<String>,
    /// When it was asked, on the monotonic clock.
    begun_ns: u64,
}
