//! `Profiler::Session`: one start to one stop.

use std::sync::{Mutex, PoisonError};

use magnus::{function, method, prelude::*, Error, RHash, RModule, Ruby};
use profiler_core::counters::Counts;
use profiler_core::hub::{Closed, SessionId};
use profiler_core::names::Names;
use profiler_core::profile::{Meta, Stats};

use crate::capture::{clock, CAPTURE};
use crate::config::Config;
use crate::errors::error;
use crate::names::VmNames;
use crate::profile::Profile;
use crate::sampler::{self, Refusal};
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
    generation: u32,
    started_at_ns: u64,
    started_ns: u64,
    counts: Counts,
    handler_ns: u64,
    collector_ns: u64,
}

impl Session {
    /// `Session.start(options)`.
    fn start(ruby: &Ruby, options: RHash) -> Result<Self, Error> {
        let config = Config::from_ruby(ruby, options)?;
        let counts = sampler::prepare().counters.read();
        let (started_at_ns, started_ns) = (clock::realtime_ns(), clock::monotonic_ns());
        let (handler_ns, collector_ns) = (threads::handler_ns(), sampler::collector_ns());
        let id = sampler::start(ruby, &config)?;
        let generation = fork::generation();
        let running =
            Running { id, config, generation, started_at_ns, started_ns, counts, handler_ns, collector_ns };
        Ok(Self(Mutex::new(Life::Running(Box::new(running)))))
    }

    /// `Session.check(options)`: raises what `start` would raise for them, and starts nothing.
    fn check(ruby: &Ruby, options: RHash) -> Result<(), Error> {
        Config::from_ruby(ruby, options).map(drop)
    }

    /// `session.stop`: a Profile.
    fn stop(ruby: &Ruby, session: &Self) -> Result<Profile, Error> {
        // Ask Ruby first: from here on nothing may switch threads until the session is closed.
        let threads = vm::threads::list(ruby)?;
        let running = session.end(ruby)?;
        let stopped_ns = clock::monotonic_ns();
        let Some(closed) = sampler::stop(running.id, &threads) else {
            return Err(error(ruby, "Error", "the session is gone: this is a bug of the profiler"));
        };
        let drained_ns = clock::monotonic_ns();
        let mut profile = named(closed);
        profile.stats = Stats {
            counts: CAPTURE.hub().map(|hub| hub.counters.read().since(&running.counts)).unwrap_or_default(),
            handler_ns: threads::handler_ns().saturating_sub(running.handler_ns),
            collector_ns: sampler::collector_ns().saturating_sub(running.collector_ns),
            stop_ns: drained_ns - stopped_ns,
            names_ns: clock::monotonic_ns() - drained_ns,
        };
        profile.meta = running.meta(ruby, stopped_ns);
        Ok(Profile::new(profile))
    }

    /// `session.discard`: ends it without a Profile. Does nothing when it is over.
    fn discard(&self) {
        if let Life::Running(running) = self.take() {
            if running.generation == fork::generation() {
                sampler::discard(running.id);
            }
        }
    }

    /// `session.running?`.
    fn is_running(&self) -> bool {
        let life = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(&*life, Life::Running(running) if running.generation == fork::generation())
    }

    fn end(&self, ruby: &Ruby) -> Result<Box<Running>, Error> {
        match self.take() {
            Life::Running(running) if running.generation == fork::generation() => Ok(running),
            Life::Running(_) => Err(error(
                ruby,
                "NotRunning",
                "this session belongs to the parent process; start one here to profile this one",
            )),
            Life::Over => Err(error(ruby, "NotRunning", "this session has been stopped already")),
        }
    }

    fn take(&self) -> Life {
        let mut life = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *life, Life::Over)
    }
}

impl Running {
    fn meta(self, ruby: &Ruby, stopped_ns: u64) -> Meta {
        let mut notes = self.config.notes;
        notes.extend(vm::process::blind_spots(ruby));
        if sampler::collector_failed() {
            notes.push(
                "the collector thread failed, so the ring may have been full (please report this)".into(),
            );
        }
        Meta {
            modes: self.config.modes,
            engine: self.config.engine.name().into(),
            interval_ns: self.config.interval_ns,
            started_at_ns: self.started_at_ns,
            duration_ns: stopped_ns - self.started_ns,
            ruby: vm::process::description(ruby),
            program: vm::process::program(ruby),
            pid: std::process::id(),
            profiler_version: env!("CARGO_PKG_VERSION").into(),
            user: self.config.metadata,
            notes,
        }
    }
}

/// Asks the VM for the names that are not known yet. The epoch keeps the handles marked meanwhile.
fn named(closed: Closed) -> profiler_core::profile::Profile {
    let mut vm = VmNames;
    let names = closed.unknown.iter().map(|handle| (*handle, vm.function(*handle))).collect();
    match CAPTURE.hub() {
        Some(hub) => hub.finish(closed, names),
        None => profiler_core::profile::Profile::default(),
    }
}

/// The exception for a session that could not start.
pub(crate) fn refused(ruby: &Ruby, refusal: Refusal) -> Error {
    match refusal {
        Refusal::AlreadyRunning => error(ruby, "AlreadyRunning", "a session is running: stop it first"),
        Refusal::HandlerTaken => error(
            ruby,
            "Unsupported",
            "SIGPROF has a handler that is not ours: another profiler, or trap(\"PROF\") in the app",
        ),
        Refusal::NoTimer(errno) => {
            let reason = std::io::Error::from_raw_os_error(errno);
            let hint = if errno == libc::EAGAIN {
                "; the quota of pending signals is used up: see ulimit -i"
            } else {
                ""
            };
            error(ruby, "Unsupported", format!("the system gives no timer: {reason}{hint}"))
        }
        Refusal::NoThread(reason) => {
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
    class.define_method("_stop", method!(Session::stop, 0))?;
    class.define_method("_discard", method!(Session::discard, 0))?;
    class.define_method("running?", method!(Session::is_running, 0))?;
    Ok(())
}
