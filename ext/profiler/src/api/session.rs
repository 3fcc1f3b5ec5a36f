//! The class `Profiler::Session`: one start to one stop.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use magnus::{
    function, gc, method, prelude::*, typed_data::Obj, value::Opaque, DataTypeFunctions, Error, RHash,
    RModule, Ruby, TypedData, Value,
};
use profiler_core::ids::ScopeId;
use profiler_core::pipeline::SessionId;

use crate::options::{Bounds, Config};
use crate::sampler::{self, PartEnd};
use crate::vm::cached::define_class;
use crate::vm::exceptions::error;
use crate::vm::{self, door};

mod life;
mod next_profile;
mod refusal;
mod take;
mod unnamed_profile;
use life::{Life, Running};
use next_profile::NextProfile;
use refusal::{refusal, stopped_error};

/// The class `Profiler::Session`. The object exists before the session begins, so there is an owner if an
/// exception arrives meanwhile. A session whose object is no longer referenced ends by itself.
#[derive(TypedData)]
#[magnus(class = "Profiler::Session", free_immediately, mark, size)]
pub(crate) struct Session {
    life: Mutex<Life>,
    /// Where the session was settled by [`Session::settle`], if it still is.
    settled: Mutex<Option<PartEnd>>,
    /// The session that this one is a slice of. It would end if its object were garbage.
    of: Option<Opaque<Value>>,
}

impl DataTypeFunctions for Session {
    fn mark(&self, marker: &gc::Marker) {
        self.of.into_iter().for_each(|it| marker.mark(it));
        // While the life is locked, the holder of the lock has the Profile on its stack.
        if let Ok(Life::Finished(profile)) = self.life.try_lock().as_deref() {
            marker.mark(*profile);
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let life = self.life.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = std::mem::replace(life, Life::Over).abandon() {
            sampler::abandon(session);
        }
    }
}

impl Session {
    /// Implements `Session._new`: creates a session that has not begun.
    fn new() -> Self {
        Self { life: Mutex::new(Life::New), settled: Mutex::default(), of: None }
    }

    /// Implements `Native.start(session, options, bounds)`.
    fn start(ruby: &Ruby, session: &Self, options: RHash, bounds: RHash) -> Result<(), Error> {
        door::ensure_stack(ruby)?;
        let (config, bounds) = (Config::from_ruby(ruby, options)?, Bounds::from_ruby(ruby, bounds)?);
        let config = Arc::new(if bounds.watch { config.without_ticks() } else { config });
        config.check_overhead(ruby, bounds.windows)?;
        if !matches!(*session.lock(), Life::New) {
            return Err(error(ruby, "Error", "this session was started already"));
        }
        let settled = bounds.settled;
        let started = sampler::start(ruby, &config, bounds);
        let id = started.map_err(|why| refusal::not_started(ruby, why))?;
        *session.lock() = Life::Running(Running { id, config }, NextProfile::default());
        if settled {
            let end = sampler::settle(id, &[]);
            *session.settled() = end;
        }
        Ok(())
    }

    /// Implements `session.slice(scope)`: begins a session of only that scope, which has no timers of its
    /// own. Returns nil if this session no longer records.
    fn slice(ruby: &Ruby, session: Obj<Self>, scope: u32) -> Result<Option<Self>, Error> {
        door::ensure_stack(ruby)?;
        let Some(Running { id: of, config }) = session.running() else { return Ok(None) };
        let slice = sampler::begin_slice(ruby, of, &config, ScopeId(scope))?;
        let life = |id| Mutex::new(Life::Running(Running { id, config }, NextProfile::default()));
        Ok(slice.map(|id| Self {
            life: life(id),
            settled: Mutex::default(),
            of: Some(session.as_value().into()),
        }))
    }

    /// Implements `session._end_unless_sliced`: ends a session of slices if it has none now. Returns whether
    /// it is over.
    fn end_unless_sliced(ruby: &Ruby, session: &Self) -> Result<bool, Error> {
        door::ensure_stack(ruby)?;
        let over = session.running().is_none_or(|it| sampler::end_unless_sliced(it.id));
        if over {
            *session.lock() = Life::Over;
        }
        Ok(over)
    }

    /// Implements `session._sample_objects(open)`: opens or closes a window in which objects are sampled.
    fn sample_objects(ruby: &Ruby, session: &Self, open: bool) -> Result<(), Error> {
        door::ensure_stack(ruby)?;
        if let Some(running) = session.running() {
            sampler::sample_objects(running.id, open);
        }
        Ok(())
    }

    /// Implements `Session.check(options)`: raises the error that `start` would raise for these options, and
    /// starts no session.
    fn check(ruby: &Ruby, options: RHash) -> Result<(), Error> {
        Config::from_ruby(ruby, options)?.check_overhead(ruby, false)
    }

    /// Implements `session.join`: adds this thread to those of a session that was started with a scope.
    fn join(ruby: &Ruby, session: &Self) -> Result<(), Error> {
        door::ensure_stack(ruby)?;
        sampler::join(ruby, session.id(ruby)?)
    }

    /// Implements `session.pause`.
    fn pause(ruby: &Ruby, session: &Self) -> Result<(), Error> {
        door::ensure_stack(ruby)?;
        sampler::pause(session.id(ruby)?);
        Ok(())
    }

    /// Implements `session.resume`.
    fn resume(ruby: &Ruby, session: &Self) -> Result<(), Error> {
        door::ensure_stack(ruby)?;
        sampler::resume(session.id(ruby)?).map_err(|why| error(ruby, "Unsupported", why))
    }

    /// Implements `session.drop`: ends the session without a Profile. A no-op if it is over.
    fn discard(ruby: &Ruby, session: &Self) -> Result<(), Error> {
        door::ensure_stack(ruby)?;
        let life = std::mem::replace(&mut *session.lock(), Life::Over);
        if let Some(session) = life.abandon() {
            sampler::discard(session);
        }
        Ok(())
    }

    /// Implements `session.running?`: true even while the session is paused.
    fn is_running(&self) -> bool {
        self.running().is_some_and(|it| sampler::is_running(it.id))
    }

    /// Implements `session.paused?`.
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

/// Implements `Session.any?`: returns whether there is a session in this process.
fn any() -> bool {
    if !vm::process::on_main_ractor() {
        return false; // no session profiles another Ractor
    }
    sampler::any()
}

/// Implements `Session.covering?`: returns whether there is a session that is not limited to single requests.
fn covering() -> bool {
    vm::process::on_main_ractor() && sampler::any_unscoped()
}

/// Defines the class, and the functions that the gem itself calls.
pub(crate) fn init(ruby: &Ruby, profiler: RModule, native: RModule) -> Result<(), Error> {
    let class = define_class::<Session>(ruby, profiler, "Session")?;
    let own = class.singleton_class()?;
    own.define_method("any?", function!(any, 0))?;
    own.define_method("covering?", function!(covering, 0))?;
    own.define_private_method("_new", function!(Session::new, 0))?;
    own.define_private_method("_check", function!(Session::check, 1))?;
    native.define_singleton_method("refusal", function!(refusal, 0))?;
    native.define_singleton_method("disarm", function!(sampler::disarm_for_exec, 0))?;
    native.define_singleton_method("rearm", function!(sampler::rearm_after_exec, 0))?;
    native.define_singleton_method("start", function!(Session::start, 3))?;
    class.define_private_method("_stop", method!(Session::stop, 0))?;
    class.define_private_method("_rotate", method!(Session::rotate, 1))?;
    class.define_private_method("_sample_objects", method!(Session::sample_objects, 1))?;
    class.define_private_method("_stopped?", method!(Session::is_stopped, 0))?;
    class.define_method("slice", method!(Session::slice, 1))?;
    class.define_private_method("_end_unless_sliced", method!(Session::end_unless_sliced, 0))?;
    class.define_private_method("_snapshot", method!(Session::snapshot, 0))?;
    class.define_private_method("_join", method!(Session::join, 0))?;
    class.define_private_method("_pause", method!(Session::pause, 0))?;
    class.define_private_method("_resume", method!(Session::resume, 0))?;
    class.define_method("settle", method!(Session::settle, 0))?;
    class.define_method("unsettle", method!(Session::unsettle, 0))?;
    class.define_method("paused?", method!(Session::is_paused, 0))?;
    class.define_method("drop", method!(Session::discard, 0))?;
    class.define_method("running?", method!(Session::is_running, 0))?;
    Ok(())
}
