//! `Profiler::Session`: one start to one stop.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use magnus::value::Opaque;
use magnus::{
    function, gc, method, prelude::*, DataTypeFunctions, Error, RHash, RModule, Ruby, TryConvert, TypedData,
    Value,
};
use profiler_core::ids::ScopeId;
use profiler_core::pipeline::SessionId;

use crate::api::profile::Profile;
use crate::options::{Bounds, Config, Prepared};
use crate::sampler;
use crate::sys::clock;
use crate::vm::asked::define_class;
use crate::vm::exceptions::error;
use crate::vm::threads::RubyThread;
use crate::vm::{self, door};

mod app;
mod refusal;
mod result;
use app::{give_up, give_up_objects, give_up_to_callcc, mark};
use refusal::{gone, over, refusal};
use result::Stopped;

/// The class `Profiler::Session`. The object exists before the session begins, so there is an owner if an exception arrives
/// meanwhile. A session whose object nobody has any more ends by itself.
#[derive(TypedData)]
#[magnus(class = "Profiler::Session", free_immediately, mark, size)]
pub(crate) struct Session(Mutex<Life>);

enum Life {
    /// It has not begun.
    New,
    Running(Running),
    /// It has stopped, and its functions have no names yet. Ruby resolves these, and an exception may arrive meanwhile.
    Stopped(Box<Stopped>),
    /// Its Profile exists. It is kept, as it may not have reached the caller for the same reason.
    Finished(Opaque<Value>),
    /// It was discarded.
    Over,
}

#[derive(Clone, Debug)]
struct Running {
    id: SessionId,
    config: Arc<Config>,
}

impl DataTypeFunctions for Session {
    fn mark(&self, marker: &gc::Marker) {
        // While it is locked, the holder of the lock has the Profile on the stack.
        if let Ok(Life::Finished(profile)) = self.0.try_lock().as_deref() {
            marker.mark(*profile);
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        match std::mem::replace(self.0.get_mut().unwrap_or_else(PoisonError::into_inner), Life::Over) {
            Life::Running(running) => sampler::abandon(running.id),
            Life::Stopped(stopped) => stopped.abandon(),
            Life::New | Life::Finished(_) | Life::Over => {}
        }
    }
}

impl Session {
    /// `Session._new`: one that has not begun.
    fn new() -> Self {
        Self(Mutex::new(Life::New))
    }

    /// `Native.start(session, options, bound, scope)`: `options` are a Hash, or [`Prepared`].
    fn start(
        ruby: &Ruby,
        session: &Self,
        options: Value,
        bound: bool,
        scope: Option<u32>,
    ) -> Result<(), Error> {
        door::demand_stack(ruby)?;
        let config = match Prepared::of(options) {
            Some(prepared) => prepared.config(ruby)?,
            None => Arc::new(Config::from_ruby(ruby, RHash::try_convert(options)?)?),
        };
        if !matches!(*session.lock(), Life::New) {
            return Err(error(ruby, "Error", "this session has begun already"));
        }
        let started = sampler::start(ruby, &config, Bounds { block: bound, scope: scope.map(ScopeId) });
        let id = started.map_err(|why| refusal::not_started(ruby, why))?;
        *session.lock() = Life::Running(Running { id, config });
        Ok(())
    }

    /// `Session.check(options)`: raises what `start` would raise for them, and starts nothing.
    fn check(ruby: &Ruby, options: RHash) -> Result<(), Error> {
        Config::from_ruby(ruby, options).map(drop)
    }

    /// `session._stop`: a Profile. If it raises an exception that arrived meanwhile, the next call goes on.
    fn stop(ruby: &Ruby, session: &Self) -> Result<Value, Error> {
        door::demand_stack(ruby)?;
        if let Some(running) = session.running() {
            session.collect(ruby);
            let threads = sampler::named(ruby, running.id)?;
            // From here on nothing is asked of Ruby until the session is closed.
            let was_here = session.close(&threads.list);
            threads.release();
            if !was_here {
                return Err(gone(ruby));
            }
        }
        session.finish(ruby)
    }

    /// Stops the session, if no other thread did so while Ruby was asked. False if it is of the process that forked this one.
    fn close(&self, named: &[RubyThread]) -> bool {
        let mut life = self.lock();
        let Life::Running(running) = &*life else { return true };
        let asked_ns = clock::monotonic_ns();
        let taken = sampler::stop(running.id, named);
        let config = Arc::clone(&running.config);
        *life = taken.map_or(Life::Over, |taken| Life::Stopped(Stopped::new(taken, config, asked_ns)));
        !matches!(*life, Life::Over)
    }

    /// The Profile of a session that has stopped.
    fn finish(&self, ruby: &Ruby) -> Result<Value, Error> {
        let stopped = {
            let mut life = self.lock();
            match &*life {
                Life::Finished(profile) => return Ok(ruby.get_inner(*profile)),
                Life::Stopped(_) => match std::mem::replace(&mut *life, Life::Over) {
                    Life::Stopped(stopped) => stopped,
                    _ => return Err(over(ruby)),
                },
                Life::New | Life::Running(_) | Life::Over => return Err(over(ruby)),
            }
        };
        if !stopped.is_of_this_process() {
            return Err(gone(ruby));
        }
        match stopped.profile(ruby) {
            Ok(profile) => {
                let profile = ruby.obj_wrap(profile).as_value();
                *self.lock() = Life::Finished(profile.into());
                Ok(profile)
            }
            Err((stopped, arrived)) => {
                *self.lock() = Life::Stopped(stopped);
                Err(arrived)
            }
        }
    }

    /// `session._stopped?`: it has a Profile, or will have one.
    fn is_stopped(&self) -> bool {
        matches!(*self.lock(), Life::Stopped(_) | Life::Finished(_))
    }

    /// `session.snapshot`: a Profile of what was recorded so far.
    fn snapshot(ruby: &Ruby, session: &Self) -> Result<Profile, Error> {
        door::demand_stack(ruby)?;
        let Running { id, config } = session.running().ok_or_else(|| over(ruby))?;
        session.collect(ruby);
        let threads = sampler::named(ruby, id)?;
        let asked_ns = clock::monotonic_ns();
        let taken = sampler::snapshot(id, &threads.list).ok_or_else(|| gone(ruby))?;
        threads.release();
        let stopped = Stopped::new(taken, config, asked_ns);
        stopped.profile(ruby).map_err(|(stopped, arrived)| {
            stopped.abandon();
            arrived
        })
    }

    /// Collects garbage first, as objects that are unreachable and not freed yet would count as live.
    fn collect(&self, ruby: &Ruby) {
        if self.running().is_some_and(|it| it.config.measures.heap) {
            ruby.gc_start();
        }
    }

    /// `session.join`: has a session that was started with a scope profile this thread as well.
    fn join(ruby: &Ruby, session: &Self) -> Result<(), Error> {
        door::demand_stack(ruby)?;
        sampler::join(ruby, session.id(ruby)?)
    }

    /// `session.pause`.
    fn pause(ruby: &Ruby, session: &Self) -> Result<(), Error> {
        door::demand_stack(ruby)?;
        sampler::pause(session.id(ruby)?);
        Ok(())
    }

    /// `session.resume`.
    fn resume(ruby: &Ruby, session: &Self) -> Result<(), Error> {
        door::demand_stack(ruby)?;
        sampler::resume(session.id(ruby)?).map_err(|why| error(ruby, "Unsupported", why))
    }

    /// `session._discard`: ends it without a Profile. Does nothing when it is over.
    fn discard(ruby: &Ruby, session: &Self) -> Result<(), Error> {
        door::demand_stack(ruby)?;
        match std::mem::replace(&mut *session.lock(), Life::Over) {
            Life::Running(running) => sampler::discard(running.id),
            Life::Stopped(stopped) => stopped.abandon(),
            Life::New | Life::Finished(_) | Life::Over => {}
        }
        Ok(())
    }

    /// `session.running?`: also while it is paused.
    fn is_running(&self) -> bool {
        self.running().is_some_and(|it| sampler::is_running(it.id))
    }

    /// `session.paused?`.
    fn is_paused(&self) -> bool {
        self.running().is_some_and(|it| sampler::is_paused(it.id))
    }

    fn running(&self) -> Option<Running> {
        match &*self.lock() {
            Life::Running(running) => Some(running.clone()),
            _ => None,
        }
    }

    fn id(&self, ruby: &Ruby) -> Result<SessionId, Error> {
        self.running().map(|it| it.id).ok_or_else(|| over(ruby))
    }

    fn lock(&self) -> MutexGuard<'_, Life> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `Session.any?`: whether there is a session in this process.
fn any() -> bool {
    if !vm::process::on_main_ractor() {
        return false; // no session profiles another Ractor
    }
    sampler::any()
}

/// Defines the class, and what the gem itself calls.
pub(crate) fn init(ruby: &Ruby, profiler: RModule, native: RModule) -> Result<(), Error> {
    let class = define_class::<Session>(ruby, profiler, "Session")?;
    define_class::<Prepared>(ruby, class, "Prepared")?.undef_default_alloc_func();
    let own = class.singleton_class()?;
    own.define_method("any?", function!(any, 0))?;
    own.define_private_method("_new", function!(Session::new, 0))?;
    own.define_private_method("_prepared", function!(Prepared::new, 1))?;
    own.define_private_method("_check", function!(Session::check, 1))?;
    native.define_singleton_method("refusal", function!(refusal, 0))?;
    native.define_singleton_method("mark", function!(mark, 2))?;
    native.define_singleton_method("give_up", function!(give_up, 0))?;
    native.define_singleton_method("give_up_to_callcc", function!(give_up_to_callcc, 0))?;
    native.define_singleton_method("give_up_objects", function!(give_up_objects, 0))?;
    native.define_singleton_method("disarm", function!(sampler::disarm_for_exec, 0))?;
    native.define_singleton_method("let_go", function!(sampler::let_go, 0))?;
    native.define_singleton_method("rearm", function!(sampler::rearm_after_exec, 0))?;
    native.define_singleton_method("start", function!(Session::start, 4))?;
    class.define_private_method("_stop", method!(Session::stop, 0))?;
    class.define_private_method("_stopped?", method!(Session::is_stopped, 0))?;
    class.define_private_method("_snapshot", method!(Session::snapshot, 0))?;
    class.define_private_method("_join", method!(Session::join, 0))?;
    class.define_private_method("_pause", method!(Session::pause, 0))?;
    class.define_private_method("_resume", method!(Session::resume, 0))?;
    class.define_method("paused?", method!(Session::is_paused, 0))?;
    class.define_private_method("_discard", method!(Session::discard, 0))?;
    class.define_method("running?", method!(Session::is_running, 0))?;
    Ok(())
}
