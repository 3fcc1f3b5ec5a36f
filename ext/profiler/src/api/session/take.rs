//! The profiles of a session: `stop`, `snapshot` and `rotate`.

use std::sync::{Arc, MutexGuard, PoisonError};

use magnus::{prelude::*, Error, Ruby, Value};
use profiler_core::pipeline::SessionId;
use profiler_core::profile::Profile as CoreProfile;
use profiler_core::result::taken::Take;
use profiler_core::sampling::live_objects::LiveObject;

use super::life::{Life, Running};
use super::next_profile::NextProfile;
use super::refusal::{orphaned_error, stopped_error};
use super::unnamed_profile::{LiveSearch, UnnamedProfile};
use super::Session;
use crate::api::profile::Profile;
#[cfg(target_os = "linux")]
use crate::memory;
use crate::naming::pending;
use crate::naming::turns::Pace;
use crate::options::Config;
use crate::sampler::{self, fork, PartEnd};
use crate::shared::CAPTURE;
use crate::sys::clock;
use crate::vm::{self, door};

impl Session {
    /// Takes the result of a running session. Returns `None` if it is over.
    fn take(&self, ruby: &Ruby, how: Take, pace: Pace) -> Result<Option<UnnamedProfile>, Error> {
        let running = self.running().ok_or_else(|| stopped_error(ruby))?;
        let id = running.id;
        let mut end = self.take_end();
        if end.is_none() && running.config.spec.measures.live() {
            end = Self::settle_now(ruby, id)?;
        }
        let taken = Self::take_settled(ruby, running, how, pace, end.clone());
        if let Some(end) = end.filter(|_| how != Take::Close || taken.is_err()) {
            sampler::unsettle(id, &end);
        }
        taken
    }

    /// Implements `session.settle`: leaves out what follows, until `session.unsettle` or the next result. A no-op
    /// if the session is paused or over.
    pub(super) fn settle(ruby: &Ruby, session: &Self) -> Result<(), Error> {
        door::ensure_stack(ruby)?;
        let Some(running) = session.running() else { return Ok(()) };
        let mut end = session.take_end();
        if end.is_none() {
            end = Self::settle_now(ruby, running.id)?;
        }
        *session.settled() = end;
        Ok(())
    }

    /// Implements `session.unsettle`: continues after `session.settle`.
    pub(super) fn unsettle(ruby: &Ruby, session: &Self) -> Result<(), Error> {
        door::ensure_stack(ruby)?;
        if let Some((running, end)) = session.running().zip(session.take_end()) {
            sampler::unsettle(running.id, &end);
        }
        Ok(())
    }

    fn settle_now(ruby: &Ruby, id: SessionId) -> Result<Option<PartEnd>, Error> {
        let threads = sampler::result_threads(ruby, id)?;
        let end = sampler::settle(id, &threads.list);
        threads.release();
        Ok(end)
    }

    /// Takes where the session was settled. The lock is released then, as what follows may run other threads.
    fn take_end(&self) -> Option<PartEnd> {
        self.settled().take().filter(PartEnd::is_of_this_process)
    }

    pub(super) fn settled(&self) -> MutexGuard<'_, Option<PartEnd>> {
        self.settled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the result of a session that was settled at `end`, unless that is `None`.
    fn take_settled(
        ruby: &Ruby,
        Running { id, config }: Running,
        how: Take,
        pace: Pace,
        end: Option<PartEnd>,
    ) -> Result<Option<UnnamedProfile>, Error> {
        let mut has_garbage = false;
        if config.spec.measures.live() {
            // SAFETY: a `Ruby` proves that the GVL is held.
            let before = unsafe { vm::heap::collections() };
            ruby.gc_start(); // unreachable objects that are not freed yet would count as live
            if config.spec.measures.heap && how != Take::Rotate {
                sampler::forget_code(ruby)?; // and so would those that are reachable only from code that we keep
                ruby.gc_start();
            }
            // SAFETY: same as above.
            has_garbage = unsafe { vm::heap::collections() } == before;
        }
        let (owned, no_owners) = Self::owned_blocks(ruby, &config)?;
        let threads = sampler::result_threads(ruby, id)?;
        // From here on Ruby is not called until the caller has kept the result.
        let requested_ns = end.as_ref().map_or_else(clock::monotonic_ns, PartEnd::monotonic_ns);
        let taken = sampler::take(ruby, id, &threads.list, how, pace, end, owned);
        threads.release();
        let found = LiveSearch { has_garbage, no_owners };
        Ok(taken.map(|it| UnnamedProfile::new(it, config, requested_ns, found)))
    }

    /// Returns the live blocks of memory with their owners, or why these are unknown, if the session wants them.
    #[cfg(target_os = "linux")]
    fn owned_blocks(
        ruby: &Ruby,
        config: &Config,
    ) -> Result<(Option<Vec<LiveObject>>, Option<String>), Error> {
        let Some(hub) = CAPTURE.hub().filter(|_| config.owners) else { return Ok((None, None)) };
        let found = memory::owned_blocks(ruby, &hub.blocks.owners)?;
        Ok(found.map_or_else(|why| (None, Some(why)), |blocks| (Some(blocks), None)))
    }

    /// Returns nothing: memory is not sampled on this system.
    #[cfg(not(target_os = "linux"))]
    fn owned_blocks(
        _ruby: &Ruby,
        _config: &Config,
    ) -> Result<(Option<Vec<LiveObject>>, Option<String>), Error> {
        Ok((None, None))
    }

    /// Implements `session._stop`: returns a Profile. If an exception that arrived during the call is raised, the
    /// next call continues.
    pub(super) fn stop(ruby: &Ruby, session: &Self) -> Result<Value, Error> {
        door::ensure_stack(ruby)?;
        if session.running().is_some() {
            let last = session.take(ruby, Take::Close, Pace::AtOnce)?;
            let is_orphan = last.is_none() && session.running().is_some(); // else another thread has stopped it
            session.lock().stop(last);
            if is_orphan {
                return Err(orphaned_error(ruby));
            }
        }
        session.finish(ruby)
    }

    /// Returns the Profile of a session that has stopped.
    fn finish(&self, ruby: &Ruby) -> Result<Value, Error> {
        let next = {
            let mut life = self.lock();
            match std::mem::replace(&mut *life, Life::Over) {
                Life::Stopped(next) => next,
                other => {
                    *life = other;
                    return match &*life {
                        Life::Finished(profile) => Ok(ruby.get_inner(*profile)),
                        _ => Err(stopped_error(ruby)),
                    };
                }
            }
        };
        if !next.is_from_this_process() {
            return Err(orphaned_error(ruby));
        }
        match next.build(ruby, Pace::AtOnce) {
            Ok(profile) => {
                let functions = profile.functions.len();
                let profile = ruby.obj_wrap(Profile::new(profile)).as_value();
                *self.lock() = Life::Finished(profile.into());
                pending::name_some(ruby, functions, Pace::AtOnce)?;
                Ok(profile)
            }
            Err((next, arrived)) => {
                *self.lock() = Life::Stopped(next);
                Err(arrived)
            }
        }
    }

    /// Implements `session._stopped?`: true if there is a Profile, or will be one.
    pub(super) fn is_stopped(&self) -> bool {
        matches!(*self.lock(), Life::Stopped(_) | Life::Finished(_))
    }

    /// Implements `session._snapshot`: returns a Profile of everything recorded so far.
    pub(super) fn snapshot(ruby: &Ruby, session: &Self) -> Result<Profile, Error> {
        door::ensure_stack(ruby)?;
        let mut so_far = NextProfile::default();
        so_far.push(session.take(ruby, Take::Snapshot, Pace::AtOnce)?.ok_or_else(|| orphaned_error(ruby))?);
        match so_far.build(ruby, Pace::AtOnce) {
            Ok(profile) => {
                pending::name_some(ruby, profile.functions.len(), Pace::AtOnce)?;
                Ok(Profile::new(profile))
            }
            Err((so_far, arrived)) => {
                so_far.abandon();
                Err(arrived)
            }
        }
    }

    /// Implements `session._rotate(gently)`: returns a Profile of everything recorded since the last one, and
    /// of earlier ones that their callers did not receive. With `gently`, other threads run in between. With
    /// a block, the Profile counts as received once the block has returned, and the block's result is
    /// returned.
    pub(super) fn rotate(ruby: &Ruby, session: &Self, gently: bool) -> Result<Value, Error> {
        door::ensure_stack(ruby)?;
        let pace = if gently { Pace::Yielding } else { Pace::AtOnce };
        let taken = session.take(ruby, Take::Rotate, pace)?.ok_or_else(|| orphaned_error(ruby))?;
        let pid = fork::pid();
        let profile = match session.rotated(taken).build(ruby, pace) {
            Ok(profile) => Profile::new(profile),
            Err((next, arrived)) => {
                session.put_back(next);
                return Err(arrived);
            }
        };
        let core = Arc::clone(&profile.core);
        let named = pending::name_some(ruby, core.functions.len(), pace);
        let profile = ruby.obj_wrap(profile).as_value();
        let received =
            named.and_then(|()| if ruby.block_given() { door::yield_to_block(profile) } else { Ok(profile) });
        if received.is_err() {
            session.put_back_profile(core, pid);
        }
        received
    }

    /// Adds the result of a rotation, and takes out all parts of its profile.
    fn rotated(&self, taken: UnnamedProfile) -> NextProfile {
        let mut alone = NextProfile::default();
        let mut life = self.lock();
        let next = life.next().unwrap_or(&mut alone);
        next.push(taken);
        std::mem::take(next)
    }

    /// Puts back results that an exception has prevented from being named.
    fn put_back(&self, earlier: NextProfile) {
        match self.lock().next() {
            Some(next) => next.put_back(earlier),
            None => earlier.abandon(),
        }
    }

    /// Puts back a profile of process `pid` that an exception has prevented from reaching its caller.
    fn put_back_profile(&self, profile: Arc<CoreProfile>, pid: u32) {
        if let Some(next) = self.lock().next() {
            next.put_back_profile(profile, pid);
        }
    }
}
