//! The results of a session that have not reached the caller: together they make its next profile.

use std::sync::Arc;

use magnus::{Error, Ruby};
use profiler_core::analysis::merge::in_turn;
use profiler_core::profile::Profile as CoreProfile;

use super::result::{Answers, Stopped};
use crate::sampler::fork;
use crate::vm::turns::Pace;
use crate::vm::without_gvl::briefly_without_gvl;

/// The results, in the order of time.
#[derive(Debug, Default)]
pub(super) struct Results {
    /// The last profile of a rotation, until the caller is known to have it: an exception can arrive on the way.
    last: Option<Arc<CoreProfile>>,
    /// The number of profiles that the caller has once it has received the last one.
    with_last: u64,
    /// Results without names.
    unnamed: Vec<Stopped>,
    /// The process that they are of. What a forked child inherits is its parent's.
    pid: u32,
}

impl Results {
    /// Adds a result. The caller has received that many profiles of rotations.
    pub(super) fn push(&mut self, next: Stopped, received: u64) {
        if self.pid != fork::pid() {
            // Their generations are the parent's too, so there is nothing to be given back.
            (self.last, self.unnamed, self.pid) = (None, Vec::new(), fork::pid());
        }
        if received == self.with_last {
            self.last = None;
        }
        self.unnamed.push(next);
    }

    /// Takes all of them out.
    pub(super) fn take(&mut self) -> Self {
        let result = std::mem::take(self);
        (self.with_last, self.pid) = (result.with_last, result.pid);
        result
    }

    /// Puts earlier results in front of these.
    pub(super) fn put_back(&mut self, mut earlier: Self) {
        earlier.unnamed.append(&mut self.unnamed);
        self.unnamed = earlier.unnamed;
        self.last = self.last.take().or(earlier.last);
    }

    /// Keeps the profile of a rotation, which is about to be returned. The caller has received that many before.
    pub(super) fn keep(&mut self, profile: Arc<CoreProfile>, received: u64) {
        self.last = Some(profile);
        self.with_last = received + 1;
    }

    /// Whether their functions can be named here.
    pub(super) fn are_of_this_process(&self) -> bool {
        self.unnamed.iter().all(Stopped::is_of_this_process)
    }

    /// Drops them without names.
    pub(super) fn abandon(self) {
        self.unnamed.into_iter().for_each(Stopped::abandon);
    }

    /// Their profile, made at that pace.
    ///
    /// # Errors
    /// Exceptions that were delivered while Ruby resolved names. The results are given back then, and can be requested again.
    pub(super) fn profile(self, ruby: &Ruby, pace: Pace) -> Result<CoreProfile, (Self, Error)> {
        match self.unnamed.iter().map(|it| it.query_ruby(ruby, pace)).collect::<Result<Vec<_>, _>>() {
            Err(arrived) => Err((self, arrived)),
            Ok(answers) => Ok(match pace {
                Pace::AtOnce => self.build_profile(answers),
                Pace::Yielding => briefly_without_gvl(ruby, || self.build_profile(answers)),
            }),
        }
    }

    fn build_profile(self, answers: Vec<Answers>) -> CoreProfile {
        let mut parts: Vec<CoreProfile> = self.last.iter().map(|it| CoreProfile::clone(it)).collect();
        let named = self.unnamed.into_iter().zip(answers);
        parts.extend(named.map(|(it, answers)| it.build_profile(answers)));
        in_turn(parts)
    }
}
