//! The results of a session that have not reached the caller: together they make its next profile.

use std::sync::Arc;

use magnus::{Error, Ruby};
use profiler_core::analysis::merge::concat;
use profiler_core::profile::Profile as CoreProfile;

use super::result::{Answers, Stopped};
use crate::sampler::fork;
use crate::vm::turns::Pace;
use crate::vm::without_gvl::briefly_without_gvl;

/// The profile of a rotation that its caller may not have: an exception can arrive on the way.
#[derive(Debug)]
struct Delivery {
    /// The number of the rotation.
    number: u64,
    profile: Arc<CoreProfile>,
    /// Whether the call is over, without the caller having it.
    failed: bool,
}

/// The results, in the order of time.
#[derive(Debug, Default)]
pub(super) struct Results {
    /// The profiles of rotations that are not known to have reached their callers.
    deliveries: Vec<Delivery>,
    /// The number of the last rotation.
    rotations: u64,
    /// Results without names.
    unnamed: Vec<Stopped>,
    /// The process that they are of. What a forked child inherits is its parent's.
    pid: u32,
}

impl Results {
    /// A number for a rotation that is about to begin.
    pub(super) fn number(&mut self) -> u64 {
        self.rotations += 1;
        self.rotations
    }

    /// Adds a result.
    pub(super) fn push(&mut self, next: Stopped) {
        if self.pid != fork::pid() {
            // Their generations are the parent's too, so there is nothing to be given back.
            (self.deliveries, self.unnamed, self.pid) = (Vec::new(), Vec::new(), fork::pid());
        }
        self.unnamed.push(next);
    }

    /// Takes out what makes the next profile: all but profiles that other threads are about to receive.
    pub(super) fn take(&mut self) -> Self {
        let (failed, deliveries) = std::mem::take(&mut self.deliveries).into_iter().partition(|it| it.failed);
        self.deliveries = deliveries;
        let unnamed = std::mem::take(&mut self.unnamed);
        Self { deliveries: failed, unnamed, rotations: self.rotations, pid: self.pid }
    }

    /// Puts earlier results in front of these.
    pub(super) fn put_back(&mut self, mut earlier: Self) {
        earlier.unnamed.append(&mut self.unnamed);
        self.unnamed = earlier.unnamed;
        self.deliveries.append(&mut earlier.deliveries);
    }

    /// Keeps the profile of a rotation, which is about to be returned.
    pub(super) fn keep(&mut self, profile: Arc<CoreProfile>, number: u64) {
        self.deliveries.push(Delivery { number, profile, failed: false });
    }

    /// The call of that rotation is over. The next profile has the contents of one that was not received.
    pub(super) fn end_rotation(&mut self, number: u64, received: bool) {
        if received {
            self.deliveries.retain(|it| it.number != number);
        } else {
            self.deliveries.iter_mut().filter(|it| it.number == number).for_each(|it| it.failed = true);
        }
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
        let mut parts: Vec<CoreProfile> =
            self.deliveries.iter().map(|it| CoreProfile::clone(&it.profile)).collect();
        parts.sort_by_key(|it| it.meta.started_at_ns);
        let named = self.unnamed.into_iter().zip(answers);
        parts.extend(named.map(|(it, answers)| it.build_profile(answers)));
        concat(parts)
    }
}
