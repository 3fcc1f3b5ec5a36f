//! A profile of a session before its functions have names, and the data for its header.

use std::borrow::Cow;
use std::sync::Arc;

use magnus::{Error, Ruby};
use profiler_core::analysis::gc;
use profiler_core::analysis::trim_paths::trim_paths;
use profiler_core::profile::Profile as CoreProfile;
use profiler_core::profile::{Function, Meta, Note, SampleType, Stats};
use profiler_core::result::taken::Unresolved;
use profiler_core::sampling::allocation_sampler::Window;
use profiler_core::ticking::engine::Engine;

use crate::engine::perf;
use crate::naming::turns::{ensure_process, Pace};
use crate::options::{self, Config, ThreadChoice};
use crate::sampler::{self, fork, SessionFacts};
use crate::shared::CAPTURE;
use crate::sys::{clock, NEEDS_LINUX};
use crate::vm::probe;
use crate::{naming, vm};

/// The note in each profile from macOS.
const EXPERIMENTAL: &str =
    "macOS support is experimental: profiler was compiled for it, but its authors have never run it there";

/// A session is noted as paused if that took more than this part of its time: one hundredth.
const MIN_PAUSE_DIVISOR: u64 = 100;

/// What the search for live memory before a result could not do.
#[derive(Debug, Default)]
pub(super) struct LiveSearch {
    /// True if garbage was not collected before, as the program has disabled the GC.
    pub(super) has_garbage: bool,
    /// Why the owners of memory are unknown, if they were looked for in vain.
    pub(super) no_owners: Option<String>,
}

/// A result whose functions have no names yet.
#[derive(Debug)]
#[must_use = "its handles stay alive until it is named or abandoned"]
pub(super) struct UnnamedProfile {
    unresolved: Unresolved,
    facts: SessionFacts,
    config: Arc<Config>,
    /// The time of the request, on the monotonic clock.
    requested_ns: u64,
    found: LiveSearch,
    /// The process that recorded it. Its handles are not marked in a forked child.
    pid: u32,
}

impl UnnamedProfile {
    /// Wraps the result that was taken just now, requested at `requested_ns`.
    pub(super) fn new(
        (unresolved, facts): (Unresolved, SessionFacts),
        config: Arc<Config>,
        requested_ns: u64,
        found: LiveSearch,
    ) -> Self {
        Self { unresolved, facts, config, requested_ns, found, pid: fork::pid() }
    }

    /// Returns whether the functions can be named in this process.
    pub(super) fn is_from_this_process(&self) -> bool {
        self.pid == fork::pid()
    }

    /// Drops the result without naming it.
    pub(super) fn abandon(self) {
        if let (true, Some(hub)) = (self.is_from_this_process(), CAPTURE.hub()) {
            hub.forget(self.unresolved);
        }
    }

    /// Asks Ruby for everything that the profile needs. The generations keep the handles marked meanwhile.
    pub(super) fn query_ruby(&self, ruby: &Ruby, pace: Pace) -> Result<RubyAnswers, Error> {
        let begun_ns = clock::monotonic_ns();
        let all = matches!(self.config.threads, ThreadChoice::All);
        let other_ractors = all && vm::process::has_ractors(ruby)?;
        // SAFETY: the handles belong to this process, and to generations that this value keeps.
        let functions = unsafe { naming::functions(ruby, &self.unresolved.unknown, pace, self.pid)? };
        let (description, program) = (vm::process::description(ruby).into(), vm::process::program(ruby));
        ensure_process(ruby, self.pid)?;
        Ok(RubyAnswers { functions, notes: self.notes(other_ractors), description, program, begun_ns })
    }

    /// Returns the notes for the reader: first those that apply to any profile with these options, then those
    /// about this one.
    fn notes(&self, other_ractors: bool) -> Vec<Note> {
        let Self { facts, config, .. } = self;
        let timed = config.spec.measures.timed();
        let engine = || facts.engine.name().into();
        let is_other = timed && facts.engine != config.engine;
        let is_setitimer = facts.engine == Engine::Setitimer;
        let is_short =
            facts.engine == Engine::Perf && perf::lacked_descriptors_since(facts.start.monotonic_ns);
        let (objects, markers) = (facts.untracked, facts.markers.refused);
        let times = facts.labels_refused;
        let of_this_one = [
            vm::process::shares_native_threads().then_some(Note::NativeThreadsShared {}),
            other_ractors.then_some(Note::OtherRactors {}),
            NEEDS_LINUX.map(|_| Note::Text(EXPERIMENTAL.into())),
            probe::NEEDED.then(|| Note::NewerRuby { newest: probe::NEWEST_TESTED.into() }),
            facts.given_up.map(|why| Note::RecordingEnded { why: why.into() }),
            facts.no_objects.map(|why| Note::ObjectsEnded { why: why.into() }),
            self.paused(),
            (objects > 0).then_some(Note::LiveObjectsUntracked { objects }),
            self.found.has_garbage.then_some(Note::GcDisabled {}),
            facts.malloc_seen.map(|(libraries, refused)| Note::MallocSeen { libraries, refused }),
            self.found.no_owners.clone().map(|why| Note::OwnersUnknown { why: why.into() }),
            (is_other && is_setitimer).then(|| Note::NoThreadTimers { engine: engine() }),
            (is_other && !is_setitimer)
                .then(|| Note::OtherEngine { engine: engine(), requested: config.engine.name().into() }),
            is_short.then_some(Note::FewDescriptors {}),
            facts.object_windows.map(|(ns, of_ns)| Note::ObjectWindows { ns, of_ns }),
            (facts.widest_ns > config.interval_ns).then_some(Note::IntervalWidened { ns: facts.widest_ns }),
            (times > 0).then_some(Note::LabelsRefused { times }),
            (markers > 0).then_some(Note::MarkersRefused { markers }),
            sampler::collector_failed().then_some(Note::CollectorFailed {}),
        ];
        config.notes.iter().cloned().chain(of_this_one.into_iter().flatten()).collect()
    }

    /// Notes that the session was paused for so long that its other times have to be read with that in mind.
    /// A session that was given up says so itself.
    fn paused(&self) -> Option<Note> {
        let Self { facts, requested_ns, .. } = self;
        let duration_ns = requested_ns.saturating_sub(facts.start.monotonic_ns);
        let is_worth = facts.given_up.is_none() && facts.paused_ns > duration_ns / MIN_PAUSE_DIVISOR;
        is_worth.then_some(Note::Paused { ns: facts.paused_ns })
    }

    /// Builds the profile. Needs no GVL.
    pub(super) fn build_profile(self, answers: RubyAnswers) -> CoreProfile {
        let mut notes = answers.notes;
        let Self { unresolved, facts, config, requested_ns, .. } = self;
        let SessionFacts { start, engine, markers, requests, cost, .. } = facts;
        let mut markers = markers.list;
        let named = unresolved.unknown.iter().copied().zip(answers.functions).collect();
        let mut profile = CAPTURE.hub().map_or_else(Default::default, |hub| hub.resolve(unresolved, named));
        Note::merge(&mut notes, &profile.meta.notes);
        let seen_cpu_ns = profile.total().get(SampleType::Cpu);
        if let Some(roots) = &config.trim_path {
            profile = trim_paths(&profile, roots);
        }
        markers.sort_unstable();
        profile.markers = markers;
        profile.requests = requests;
        profile.add_labels(&config.static_labels);
        profile.stats = Stats {
            stop_ns: answers.begun_ns.saturating_sub(requested_ns),
            names_ns: clock::monotonic_ns() - answers.begun_ns,
            // At least 1, which says that the session covered all threads.
            unseen_cpu_ns: cost.unseen_cpu_ns.min(1).max(cost.unseen_cpu_ns.saturating_sub(seen_cpu_ns)),
            ..cost
        };
        let (objects, bytes) = match config.every {
            Window::Objects(number) => (number, 0),
            Window::Bytes(number) => (0, number),
        };
        profile.meta = Meta {
            modes: options::modes(config.spec.measures),
            engine: if config.spec.measures.timed() { engine.name().into() } else { "".into() },
            interval_ns: config.interval_ns,
            every: objects,
            every_bytes: bytes,
            started_at_ns: start.time_of_day_ns(),
            duration_ns: requested_ns.saturating_sub(start.monotonic_ns),
            ruby: answers.description,
            program: answers.program,
            pid: fork::pid(),
            profiler_version: env!("CARGO_PKG_VERSION").into(),
            user: config.metadata.clone(),
            notes,
            merged: None,
        };
        match config.gc {
            Some(place) => gc::place(&profile, place),
            None => profile,
        }
    }
}

/// Ruby's answers for a profile: names, and facts for the header.
#[derive(Debug)]
pub(super) struct RubyAnswers {
    /// The functions of the handles that had no names.
    functions: Vec<Function>,
    notes: Vec<Note>,
    /// The description of the Ruby and the name of the program, for the header.
    description: Cow<'static, str>,
    program: String,
    /// The time of the question, on the monotonic clock.
    begun_ns: u64,
}
