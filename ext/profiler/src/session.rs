//! `Profiler::Session`: one start to one stop.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use magnus::typed_data::Obj;
use magnus::{function, method, prelude::*, Error, RArray, RModule, RString, Ruby, TryConvert, Value};
use profiler_core::hub::SessionId;
use profiler_core::ids::ScopeId;

use crate::capture::{clock, made, sigaction, CAPTURE};
use crate::config::{Bounds, Config, Prepared};
use crate::errors::{argument_error, error};
use crate::profile::Profile;
use crate::sampler::{self, Refusal};
use crate::vm::asked::define_class;
use crate::{arming, fork, labels, threads, vm};

mod result;

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
    config: Arc<Config>,
}

impl Session {
    /// `Session._start(options, bound, scope)`: `options` are an Array, or [`Prepared`].
    fn start(ruby: &Ruby, options: Value, bound: bool, scope: Option<u32>) -> Result<Self, Error> {
        let config = match <Obj<Prepared>>::try_convert(options) {
            Ok(prepared) => prepared.config(ruby)?,
            Err(_) => Arc::new(Config::from_ruby(ruby, RArray::try_convert(options)?)?),
        };
        let id = sampler::start(ruby, &config, Bounds { block: bound, scope: scope.map(ScopeId) })?;
        Ok(Self(Mutex::new(Life::Running(Box::new(Running { id, config })))))
    }

    /// `Session.check(options)`: raises what `start` would raise for them, and starts nothing.
    fn check(ruby: &Ruby, options: RArray) -> Result<(), Error> {
        Config::from_ruby(ruby, options).map(drop)
    }

    /// `session.stop`: a Profile.
    fn stop(ruby: &Ruby, session: &Self) -> Result<Profile, Error> {
        fork::catch_up();
        session.collect(ruby);
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
        session.collect(ruby);
        let threads = sampler::named(ruby, id)?;
        let asked_ns = clock::monotonic_ns();
        let taken = sampler::snapshot(id, &threads).ok_or_else(|| gone(ruby))?;
        // A copy: names are asked for without the lock.
        let config = match &*session.lock() {
            Life::Running(running) => Some(Arc::clone(&running.config)),
            Life::Over => None,
        };
        let config = config.ok_or_else(|| over(ruby))?;
        Ok(Running { id, config }.profile(ruby, taken, asked_ns))
    }

    /// What is dead but not freed yet would count as alive.
    fn collect(&self, ruby: &Ruby) {
        let heap = match &*self.lock() {
            Life::Running(running) => running.config.measures.heap,
            Life::Over => false,
        };
        if heap {
            ruby.gc_start();
        }
    }

    /// `session.join`: one that was started with a scope looks at this thread as well.
    fn join(ruby: &Ruby, session: &Self) -> Result<(), Error> {
        fork::catch_up();
        sampler::join(ruby, session.id(ruby)?)
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
    let me = vm::threads::current(ruby, vm::threads::Names::Wanted)?;
    // SAFETY: nothing of Ruby runs while the slice is read.
    let name = unsafe { name.as_slice() };
    // Not all of a long one is copied: a character has 4 bytes at most.
    let start = name.get(..labels::MAX_BYTES + 4).unwrap_or(name);
    let name = labels::cut(String::from_utf8_lossy(start).into_owned());
    sampler::mark(&name, started_ns, || arming::me().map(|state| threads::info(state, me.name)));
    Ok(())
}

/// `Session._give_up_objects`: the app makes a Ractor. True if that ends all looking at objects.
fn give_up_objects(ruby: &Ruby) -> bool {
    fork::catch_up();
    let kills = vm::allocations::HOOK_KILLS_RACTORS && made::is_on();
    if made::follows() {
        ruby.gc_start(); // so that what is dead does not count as alive
    }
    if kills {
        sampler::give_up_objects(
            false,
            "a Ractor was made, which before Ruby 3.3 a hook on allocation kills",
        );
    } else if made::follows() {
        sampler::give_up_objects(
            true,
            "a Ractor was made, and one that collects garbage does not tell what it frees",
        );
    }
    kills
}

/// `Session._give_up`: the app takes SIGPROF.
fn give_up(ruby: &Ruby) -> Result<(), Error> {
    const WHY: &str = "the app trapped SIGPROF";
    if !vm::process::on_main_ractor() {
        return sampler::give_up_elsewhere(ruby, WHY);
    }
    fork::catch_up();
    sampler::give_up(WHY);
    Ok(())
}

fn over(ruby: &Ruby) -> Error {
    error(ruby, "NotRunning", "this session has been stopped already")
}

fn gone(ruby: &Ruby) -> Error {
    let message = "the session belongs to a block on a thread of the process that forked this one";
    error(ruby, "NotRunning", message)
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
    let class = define_class::<Session>(ruby, profiler, "Session")?;
    define_class::<Prepared>(ruby, class, "Prepared")?.undef_default_alloc_func();
    let own = class.singleton_class()?;
    own.define_private_method("_start", function!(Session::start, 3))?;
    own.define_private_method("_prepared", function!(Prepared::new, 1))?;
    own.define_private_method("_check", function!(Session::check, 1))?;
    own.define_private_method("_refusal", function!(refusal, 0))?;
    own.define_private_method("_mark", function!(mark, 2))?;
    own.define_private_method("_give_up", function!(give_up, 0))?;
    own.define_private_method("_give_up_objects", function!(give_up_objects, 0))?;
    own.define_private_method("_disarm", function!(sampler::disarm_for_exec, 0))?;
    own.define_private_method("_let_go", function!(sampler::let_go, 0))?;
    own.define_private_method("_rearm", function!(sampler::rearm_after_exec, 0))?;
    class.define_private_method("_stop", method!(Session::stop, 0))?;
    class.define_private_method("_snapshot", method!(Session::snapshot, 0))?;
    class.define_private_method("_join", method!(Session::join, 0))?;
    class.define_private_method("_pause", method!(Session::pause, 0))?;
    class.define_private_method("_resume", method!(Session::resume, 0))?;
    class.define_method("paused?", method!(Session::is_paused, 0))?;
    class.define_private_method("_discard", method!(Session::discard, 0))?;
    class.define_method("running?", method!(Session::is_running, 0))?;
    Ok(())
}
