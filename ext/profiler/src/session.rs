//! `Profiler::Session`: one start to one stop.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use magnus::{function, method, prelude::*, Error, RArray, RModule, RString, Ruby};
use profiler_core::analysis::gc;
use profiler_core::analysis::trim::trim;
use profiler_core::hub::{Closed, SessionId};
use profiler_core::names::Names;
use profiler_core::profile::{Meta, SampleType, Stats};

use crate::capture::engine::Engine;
use crate::capture::{clock, made, sigaction, CAPTURE};
use crate::config::{self, Config};
use crate::errors::{argument_error, error};
use crate::names::VmNames;
use crate::profile::Profile;
use crate::sampler::{self, Refusal, Taken};
use crate::{fork, threads, vm};

/// See the module.
#[derive(Debug)]
#[magnus::wrap(class = "Profiler::Session", free_immediately, size)]
pub(crate) struct Session(Mutex<Life>);

#[derive(Debug)]
enum Life {
    Running(Box<Running>),
    /// Stopped or discarded.
    Over,
}

#[derive(Debug)]
struct Running {
    id: SessionId,
    config: Config,
}

impl Session {
    /// `Session.start(options)`.
    fn start(ruby: &Ruby, options: RArray) -> Result<Self, Error> {
        let config = Config::from_ruby(ruby, options)?;
        let id = sampler::start(ruby, &config)?;
        Ok(Self(Mutex::new(Life::Running(Box::new(Running { id, config })))))
    }

    /// `Session.check(options)`: raises what `start` would raise for them, and starts nothing.
    fn check(ruby: &Ruby, options: RArray) -> Result<(), Error> {
        Config::from_ruby(ruby, options).map(drop)
    }

    /// `session.stop`: a Profile.
    fn stop(ruby: &Ruby, session: &Self) -> Result<Profile, Error> {
        fork::catch_up();
        // Ask Ruby first: from here on nothing may switch threads until the session is closed.
        let threads = sampler::named(ruby, session.id(ruby)?)?;
        let Life::Running(running) = session.take() else { return Err(over(ruby)) };
        let asked_ns = clock::monotonic_ns();
        match sampler::stop(running.id, &threads) {
            Some(taken) => Ok(running.profile(ruby, taken, asked_ns)),
            None => Err(gone(ruby)),
        }
    }

    /// `session.snapshot`: a Profile of what was seen so far.
    fn snapshot(ruby: &Ruby, session: &Self) -> Result<Profile, Error> {
        fork::catch_up();
        let id = session.id(ruby)?;
        let threads = sampler::named(ruby, id)?;
        let asked_ns = clock::monotonic_ns();
        let taken = sampler::snapshot(id, &threads).ok_or_else(|| gone(ruby))?;
        // A copy: names are asked for without the lock.
        let config = match &*session.lock() {
            Life::Running(running) => Some(running.config.clone()),
            Life::Over => None,
        };
        let config = config.ok_or_else(|| over(ruby))?;
        Ok(Running { id, config }.profile(ruby, taken, asked_ns))
    }

    /// `session.pause`.
    fn pause(ruby: &Ruby, session: &Self) -> Result<(), Error> {
        fork::catch_up();
        sampler::pause(session.id(ruby)?);
        Ok(())
    }

    /// `session.resume`.
    fn resume(ruby: &Ruby, session: &Self) -> Result<(), Error> {
        fork::catch_up();
        sampler::resume(session.id(ruby)?).map_err(|why| error(ruby, "Unsupported", why))
    }

    /// `session.discard`: ends it without a Profile. Does nothing when it is over.
    fn discard(&self) {
        fork::catch_up();
        if let Life::Running(running) = self.take() {
            sampler::discard(running.id);
        }
    }

    /// `session.running?`: also while it is paused.
    fn is_running(&self) -> bool {
        match &*self.lock() {
            Life::Running(running) => sampler::is_running(running.id),
            Life::Over => false,
        }
    }

    /// `session.paused?`.
    fn is_paused(&self) -> bool {
        match &*self.lock() {
            Life::Running(running) => sampler::is_paused(running.id),
            Life::Over => false,
        }
    }

    fn id(&self, ruby: &Ruby) -> Result<SessionId, Error> {
        let id = match &*self.lock() {
            Life::Running(running) => Some(running.id),
            Life::Over => None,
        };
        id.ok_or_else(|| over(ruby))
    }

    fn take(&self) -> Life {
        std::mem::replace(&mut *self.lock(), Life::Over)
    }

    fn lock(&self) -> MutexGuard<'_, Life> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `Session._mark(name, started_ns)`: see `Profiler.marker`.
fn mark(ruby: &Ruby, name: RString, started_ns: u64) -> Result<(), Error> {
    fork::catch_up();
    if !CAPTURE.enabled.load(Ordering::Relaxed) {
        return Ok(());
    }
    let me = vm::threads::current(ruby)?;
    // SAFETY: nothing of Ruby runs while the slice is read.
    let name = String::from_utf8_lossy(unsafe { name.as_slice() }).into_owned();
    sampler::mark(&name, started_ns, || threads::own().map(|state| threads::info(state, me.name)));
    Ok(())
}

/// `Session._give_up_objects`: the app makes a Ractor. True if that would have killed it.
fn give_up_objects() -> bool {
    fork::catch_up();
    let danger = vm::allocations::HOOK_KILLS_RACTORS && made::is_on();
    if danger {
        sampler::give_up_objects("a Ractor was made, which before Ruby 3.3 a hook on allocation kills");
    }
    danger
}

/// `Session._give_up`: the app takes SIGPROF.
fn give_up() {
    fork::catch_up();
    sampler::give_up("the app trapped SIGPROF");
}

fn over(ruby: &Ruby) -> Error {
    error(ruby, "NotRunning", "this session has been stopped already")
}

fn gone(ruby: &Ruby) -> Error {
    let message = "the session belongs to a block on a thread of the process that forked this one";
    error(ruby, "NotRunning", message)
}

impl Running {
    /// The Profile of what the session gave. `asked_ns` is when it was asked for.
    fn profile(&self, ruby: &Ruby, taken: Taken, asked_ns: u64) -> Profile {
        let drained_ns = clock::monotonic_ns();
        let cost = taken.cost();
        let Taken {
            closed,
            start,
            engine,
            given_up,
            no_objects,
            labels_refused,
            mut markers,
            markers_refused,
            ..
        } = taken;
        let mut profile = named(ruby, closed);
        let seen_cpu_ns = profile.total().get(SampleType::Cpu);
        if let Some(roots) = &self.config.trim_path {
            profile = trim(&profile, roots);
        }
        markers.sort_unstable();
        profile.markers = markers;
        profile.add_labels(&self.config.static_labels);
        profile.stats = Stats {
            stop_ns: drained_ns - asked_ns,
            names_ns: clock::monotonic_ns() - drained_ns,
            unseen_cpu_ns: cost.unseen_cpu_ns.saturating_sub(seen_cpu_ns),
            ..cost
        };
        let mut notes = self.config.notes.clone();
        notes.extend(vm::process::blind_spots(ruby));
        notes.extend(given_up.map(|why| format!("{why}: nothing was recorded from then on")));
        notes.extend(no_objects.map(|why| format!("{why}: no object was looked at from then on")));
        let timed = self.config.measures.timed();
        let (engine_name, chosen) = (if timed { engine.name() } else { "" }, self.config.engine.name());
        match engine {
            _ if !timed || engine == self.config.engine => {}
            Engine::Setitimer => {
                notes.push(format!("the system gave no timer for each thread, so {engine_name} was used"));
            }
            _ => notes.push(format!(
                "engine {engine_name}, not {chosen}: other sessions had it, or the system refused"
            )),
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
        profile.meta = Meta {
            modes: config::modes(self.config.measures),
            engine: engine_name.into(),
            interval_ns: self.config.interval_ns,
            every: self.config.every,
            started_at_ns: start.at_ns,
            duration_ns: asked_ns.saturating_sub(start.monotonic_ns),
            ruby: vm::process::description(ruby),
            program: vm::process::program(ruby),
            pid: std::process::id(),
            profiler_version: env!("CARGO_PKG_VERSION").into(),
            user: self.config.metadata.clone(),
            notes,
        };
        Profile::new(match self.config.gc {
            Some(place) => gc::place(&profile, place),
            None => profile,
        })
    }
}

/// Asks the VM for the names that are not known yet. The epoch keeps the handles marked meanwhile.
fn named(ruby: &Ruby, closed: Closed) -> profiler_core::profile::Profile {
    let functions = VmNames(ruby).functions(&closed.unknown);
    let names = closed.unknown.iter().copied().zip(functions).collect();
    match CAPTURE.hub() {
        Some(hub) => hub.finish(closed, names),
        None => profiler_core::profile::Profile::default(),
    }
}

const HANDLER_TAKEN: &str =
    "SIGPROF has a handler that is not ours: another profiler, or trap(\"PROF\") in the app";

/// `Session._refusal`: why no session could start now, as far as that can be said without trying.
fn refusal() -> Option<&'static str> {
    (sigaction::owner() == sigaction::Owner::Foreign).then_some(HANDLER_TAKEN)
}

/// The exception for a session that could not start.
pub(crate) fn refused(ruby: &Ruby, refusal: Refusal) -> Error {
    match refusal {
        Refusal::EngineTaken(engine) => error(
            ruby,
            "Unsupported",
            format!("sessions are running with engine :{}, and there is one at a time", engine.name()),
        ),
        Refusal::NoThreads => argument_error(ruby, "threads: none of these is alive"),
        Refusal::TimerTaken => error(
            ruby,
            "Unsupported",
            "the timer of the process (ITIMER_PROF) is armed already: another profiler",
        ),
        Refusal::HandlerTaken => error(ruby, "Unsupported", HANDLER_TAKEN),
        Refusal::NoTimer(errno) => {
            let reason = std::io::Error::from_raw_os_error(errno);
            let hint = if errno == libc::EAGAIN {
                "; the quota of pending signals is used up: see ulimit -i"
            } else {
                ""
            };
            error(ruby, "Unsupported", format!("the system gives no timer: {reason}{hint}"))
        }
        Refusal::NoCollector(reason) => {
            error(ruby, "Unsupported", format!("no thread for the collector: {reason}"))
        }
    }
}

/// Defines the class.
pub(crate) fn init(ruby: &Ruby, profiler: RModule) -> Result<(), Error> {
    let class = profiler.define_class("Session", ruby.class_object())?;
    class.undef_default_alloc_func();
    class.define_singleton_method("_start", function!(Session::start, 1))?;
    class.define_singleton_method("_check", function!(Session::check, 1))?;
    class.define_singleton_method("_refusal", function!(refusal, 0))?;
    class.define_singleton_method("_mark", function!(mark, 2))?;
    class.define_singleton_method("_give_up", function!(give_up, 0))?;
    class.define_singleton_method("_give_up_objects", function!(give_up_objects, 0))?;
    class.define_singleton_method("_disarm", function!(sampler::disarm_for_exec, 0))?;
    class.define_singleton_method("_rearm", function!(sampler::rearm_after_exec, 0))?;
    class.define_method("_stop", method!(Session::stop, 0))?;
    class.define_method("_snapshot", method!(Session::snapshot, 0))?;
    class.define_method("_pause", method!(Session::pause, 0))?;
    class.define_method("_resume", method!(Session::resume, 0))?;
    class.define_method("paused?", method!(Session::is_paused, 0))?;
    class.define_method("_discard", method!(Session::discard, 0))?;
    class.define_method("running?", method!(Session::is_running, 0))?;
    Ok(())
}
