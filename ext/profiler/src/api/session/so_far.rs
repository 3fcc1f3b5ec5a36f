//! Profiles of a session that goes on: `snapshot` and `rotate`.

use magnus::{Error, Ruby};
use profiler_core::pipeline::SessionId;

use super::life::Running;
use super::refusal::{orphaned_error, stopped_error};
use super::result::Stopped;
use super::results::Results;
use super::Session;
use crate::api::profile::Profile;
use crate::naming::pending;
use crate::sampler::{self, SessionResult};
use crate::sys::clock;
use crate::vm::door;
use crate::vm::threads::RubyThread;
use crate::vm::turns::Pace;

impl Session {
    /// `session.snapshot`: a Profile of what was recorded so far.
    pub(super) fn snapshot(ruby: &Ruby, session: &Self) -> Result<Profile, Error> {
        let mut results = Results::default();
        results.push(session.so_far(ruby, sampler::snapshot, Pace::AtOnce)?);
        match results.profile(ruby, Pace::AtOnce) {
            Ok(profile) => {
                pending::name_some(ruby, profile.functions.len(), Pace::AtOnce)?;
                Ok(Profile::new(profile))
            }
            Err((results, arrived)) => {
                results.abandon();
                Err(arrived)
            }
        }
    }

    /// The result of a running session that `take` returns.
    fn so_far(
        &self,
        ruby: &Ruby,
        take: fn(SessionId, &[RubyThread]) -> Option<SessionResult>,
        pace: Pace,
    ) -> Result<Stopped, Error> {
        door::demand_stack(ruby)?;
        let Running { id, config } = self.running().ok_or_else(|| stopped_error(ruby))?;
        self.collect(ruby);
        let threads = sampler::result_threads(ruby, id)?;
        let requested_ns = clock::monotonic_ns();
        let result = take(id, &threads.list).ok_or_else(|| orphaned_error(ruby))?;
        threads.release();
        Ok(Stopped::new(ruby, result, config, requested_ns, pace))
    }

    /// `session._number_rotation`: a number for a rotation that is about to begin. Other threads can rotate meanwhile.
    pub(super) fn number_rotation(&self) -> u64 {
        self.lock().results().map_or(0, Results::number)
    }

    /// `session._end_rotation(number, received)`: the call of that rotation is over. What was not received is in the next Profile.
    pub(super) fn end_rotation(&self, number: u64, received: bool) {
        if let Some(results) = self.lock().results() {
            results.end_rotation(number, received);
        }
    }

    /// `session._rotate(number, gently)`: a Profile of what was recorded since the last one, and of what the callers of earlier
    /// ones did not receive. With `gently`, other threads run in between.
    pub(super) fn rotate(ruby: &Ruby, session: &Self, number: u64, gently: bool) -> Result<Profile, Error> {
        let pace = if gently { Pace::Yielding } else { Pace::AtOnce };
        let next = session.so_far(ruby, sampler::rotate, pace)?; // nothing is asked of Ruby until it is kept
        let results = session.lock().rotated(next);
        match results.profile(ruby, pace) {
            Ok(profile) => {
                let profile = Profile::new(profile);
                session.lock().keep(&profile.core, number);
                pending::name_some(ruby, profile.core.functions.len(), pace)?;
                Ok(profile)
            }
            Err((results, arrived)) => {
                session.lock().put_back(results);
                Err(arrived)
            }
        }
    }
}
