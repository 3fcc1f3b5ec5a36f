//! `Profiler::Session`: one start to one stop.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use magnus::{
    function, gc, method, prelude::*, typed_data::Obj, value::Opaque, DataTypeFunctions, Error, RHash,
    RModule, Ruby, TypedData, Value,
};
use profiler_core::ids::ScopeId;
use profiler_core::pipeline::SessionId;

use crate::api::profile::Profile;
use crate::naming::pending;
use crate::options::{Bounds, Config};
use crate::sampler;
use crate::sys::clock;
use crate::vm::cached::define_class;
use crate::vm::exceptions::error;
use crate::vm::threads::RubyThread;
use crate::vm::turns::Pace;
use crate::vm::{self, door};

mod app;
mod life;
mod refusal;
mod result;
mod results;
mod so_far;
use app::{count_request, give_up, give_up_objects, give_up_to_callcc, mark};
use life::{Life, Running};
use refusal::{orphaned_error, refusal, stopped_error};
use result::Stopped;
use results::Results;

/// The class `Profiler::Session`. The object exists before the session begins, so there is an owner if an exception arrives
/// meanwhile. A session whose object nobody has any more ends by itself.
#[derive(TypedData)]
#[magnus(class = "Profiler::Session", free_immediately, mark, size)]
pub(crate) struct Session {
    life: Mutex<Life>,
    /// The session of which it is a slice, which would end if its object were garbage.
    of: Option<Opaque<Value>>,
}

impl DataTypeFunctions for Session {
    fn mark(&self, marker: &gc::Marker) {
        self.of.into_iter().for_each(|it| marker.mark(it));
        // While it is locked, the holder of the lock has the Profile on the stack.
        if let Ok(Life::Finished(profile)) = self.life.try_lock().as_deref() {
            marker.mark(*profile);
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        match std::mem::replace(self.life.get_mut().unwrap_or_else(PoisonError::into_inner), Life::Over) {
            Life::Running(running, results) => {
                results.abandon();
                sampler::abandon(running.id);
            }
            other => other.abandon(),
        }
    }
}

impl Session {
    /// `Session._new`: one that has not begun.
    fn new() -> Self {
        Self { life: Mutex::new(Life::New), of: None }
    }

    /// `Native.start(session, options, bound, scope, slices, windows)`.
    fn start(
        ruby: &Ruby,
        session: &Self,
        options: RHash,
        bound: bool,
        scope: Option<u32>,
        slices: bool,
        windows: bool,
    ) -> Result<(), Error> {
        door::demand_stack(ruby)?;
        let config = Arc::new(Config::from_ruby(ruby, options)?);
        config.check_overhead(ruby, windows)?;
        if !matches!(*session.lock(), Life::New) {
            return Err(error(ruby, "Error", "this session has begun already"));
        }
        let bounds = Bounds { block: bound, scope: scope.map(ScopeId), slices, windows };
        let started = sampler::start(ruby, &config, bounds);
        let id = started.map_err(|why| refusal::not_started(ruby, why))?;
        *session.lock() = Life::Running(Running { id, config }, Results::default());
        Ok(())
    }

    /// `session.slice(scope)`: a session of that scope alone, which has no timers of its own. `nil` if this one records no more.
    fn slice(ruby: &Ruby, session: Obj<Self>, scope: u32) -> Result<Option<Self>, Error> {
        door::demand_stack(ruby)?;
        let Some(Running { id: of, config }) = session.running() else { return Ok(None) };
        let slice = sampler::begin_slice(ruby, of, &config, ScopeId(scope))?;
        let life = |id| Mutex::new(Life::Running(Running { id, config }, Results::default()));
        Ok(slice.map(|id| Self { life: life(id), of: Some(session.as_value().into()) }))
    }

    /// `session._end_unless_sliced`: ends a session of slices if it has none now. Whether it is over.
    fn end_unless_sliced(ruby: &Ruby, session: &Self) -> Result<bool, Error> {
        door::demand_stack(ruby)?;
        let over = session.running().is_none_or(|it| sampler::end_unless_sliced(it.id));
        if over {
            *session.lock() = Life::Over;
        }
        Ok(over)
    }

    /// `session._sample_objects(open)`: opens or closes a window in which objects are sampled.
    fn sample_objects(ruby: &Ruby, session: &Self, open: bool) -> Result<(), Error> {
        door::demand_stack(ruby)?;
        if let Some(running) = session.running() {
            sampler::sample_objects(running.id, open);
        }
        Ok(())
    }

    /// `Session.check(options)`: raises what `start` would raise for them, and starts nothing.
    fn check(ruby: &Ruby, options: RHash) -> Result<(), Error> {
        Config::from_ruby(ruby, options)?.check_overhead(ruby, false)
    }

    /// `session._stop`: a Profile. If it raises an exception that arrived meanwhile, the next call goes on.
    fn stop(ruby: &Ruby, session: &Self) -> Result<Value, Error> {
        door::demand_stack(ruby)?;
        if let Some(running) = session.running() {
            session.collect(ruby);
            let threads = sampler::result_threads(ruby, running.id)?;
            // From here on nothing is asked of Ruby until the session is closed.
            let was_here = session.close(ruby, &threads.list);
            threads.release();
            if !was_here {
                return Err(orphaned_error(ruby));
            }
        }
        session.finish(ruby)
    }

    /// Stops the session, if no other thread did so while Ruby was asked. False if it is of the process that forked this one.
    fn close(&self, ruby: &Ruby, named: &[RubyThread]) -> bool {
        let mut life = self.lock();
        let Life::Running(running, results) = &mut *life else { return true };
        let requested_ns = clock::monotonic_ns();
        let result = sampler::stop(running.id, named);
        let (config, mut results) = (Arc::clone(&running.config), results.take());
        *life = result.map_or(Life::Over, |result| {
            results.push(Stopped::new(ruby, result, config, requested_ns, Pace::AtOnce));
            Life::Stopped(results)
        });
        !matches!(*life, Life::Over)
    }

    /// The Profile of a session that has stopped.
    fn finish(&self, ruby: &Ruby) -> Result<Value, Error> {
        let results = {
            let mut life = self.lock();
            match &*life {
                Life::Finished(profile) => return Ok(ruby.get_inner(*profile)),
                Life::Stopped(_) => match std::mem::replace(&mut *life, Life::Over) {
                    Life::Stopped(results) => results,
                    _ => return Err(stopped_error(ruby)),
                },
                Life::New | Life::Running(..) | Life::Over => return Err(stopped_error(ruby)),
            }
        };
        if !results.are_of_this_process() {
            return Err(orphaned_error(ruby));
        }
        match results.profile(ruby, Pace::AtOnce) {
            Ok(profile) => {
                let functions = profile.functions.len();
                let profile = ruby.obj_wrap(Profile::new(profile)).as_value();
                *self.lock() = Life::Finished(profile.into());
                pending::name_some(ruby, functions, Pace::AtOnce)?;
                Ok(profile)
            }
            Err((results, arrived)) => {
                *self.lock() = Life::Stopped(results);
                Err(arrived)
            }
        }
    }

    /// `session._stopped?`: it has a Profile, or will have one.
    fn is_stopped(&self) -> bool {
        matches!(*self.lock(), Life::Stopped(_) | Life::Finished(_))
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

    /// `session.drop`: ends it without a Profile. Does nothing when it is over.
    fn discard(ruby: &Ruby, session: &Self) -> Result<(), Error> {
        door::demand_stack(ruby)?;
        match std::mem::replace(&mut *session.lock(), Life::Over) {
            Life::Running(running, results) => {
                results.abandon();
                sampler::discard(running.id);
            }
            other => other.abandon(),
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
        self.lock().running().cloned()
    }

    fn id(&self, ruby: &Ruby) -> Result<SessionId, Error> {
        self.running().map(|it| it.id).ok_or_else(|| stopped_error(ruby))
    }

    fn lock(&self) -> MutexGuard<'_, Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `Session.any?`: whether there is a session in this process.
fn any() -> bool {
    if !vm::process::on_main_ractor() {
        return false; // no session profiles another Ractor
    }
    sampler::any()
}

/// `Session.covering?`: whether there is a session that is not of single requests.
fn covering() -> bool {
    vm::process::on_main_ractor() && sampler::any_unscoped()
}

/// Defines the class, and what the gem itself calls.
pub(crate) fn init(ruby: &Ruby, profiler: RModule, native: RModule) -> Result<(), Error> {
    let class = define_class::<Session>(ruby, profiler, "Session")?;
    let own = class.singleton_class()?;
    own.define_method("any?", function!(any, 0))?;
    own.define_method("covering?", function!(covering, 0))?;
    own.define_private_method("_new", function!(Session::new, 0))?;
    own.define_private_method("_check", function!(Session::check, 1))?;
    native.define_singleton_method("refusal", function!(refusal, 0))?;
    native.define_singleton_method("mark", function!(mark, 2))?;
    native.define_singleton_method("count_request", function!(count_request, 2))?;
    native.define_singleton_method("give_up", function!(give_up, 0))?;
    native.define_singleton_method("give_up_to_callcc", function!(give_up_to_callcc, 0))?;
    native.define_singleton_method("give_up_objects", function!(give_up_objects, 0))?;
    native.define_singleton_method("disarm", function!(sampler::disarm_for_exec, 0))?;
    native.define_singleton_method("rearm", function!(sampler::rearm_after_exec, 0))?;
    native.define_singleton_method("start", function!(Session::start, 6))?;
    class.define_private_method("_stop", method!(Session::stop, 0))?;
    class.define_private_method("_number_rotation", method!(Session::number_rotation, 0))?;
    class.define_private_method("_rotate", method!(Session::rotate, 2))?;
    class.define_private_method("_end_rotation", method!(Session::end_rotation, 2))?;
    class.define_private_method("_sample_objects", method!(Session::sample_objects, 1))?;
    class.define_private_method("_stopped?", method!(Session::is_stopped, 0))?;
    class.define_method("slice", method!(Session::slice, 1))?;
    class.define_private_method("_end_unless_sliced", method!(Session::end_unless_sliced, 0))?;
    class.define_private_method("_snapshot", method!(Session::snapshot, 0))?;
    class.define_private_method("_join", method!(Session::join, 0))?;
    class.define_private_method("_pause", method!(Session::pause, 0))?;
    class.define_private_method("_resume", method!(Session::resume, 0))?;
    class.define_method("paused?", method!(Session::is_paused, 0))?;
    class.define_method("drop", method!(Session::discard, 0))?;
    class.define_method("running?", method!(Session::is_running, 0))?;
    Ok(())
}
