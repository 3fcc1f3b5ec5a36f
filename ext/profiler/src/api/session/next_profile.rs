//! The next profile of a session: everything that it has recorded and no caller has received.

use std::sync::Arc;

use magnus::{Error, Ruby};
use profiler_core::analysis::merge::concat;
use profiler_core::profile::Profile as CoreProfile;

use super::unnamed_profile::{RubyAnswers, UnnamedProfile};
use crate::naming::turns::Pace;
use crate::sampler::fork;
use crate::vm::without_gvl::briefly_without_gvl;

/// The parts of the next profile of a session.
#[derive(Debug, Default)]
pub(super) struct NextProfile {
    /// Profiles that their callers did not receive.
    unreceived: Vec<Arc<CoreProfile>>,
    /// Profiles without names, in chronological order.
    unnamed: Vec<UnnamedProfile>,
    /// The process that recorded them. A value that a forked child inherits is its parent's.
    pid: u32,
}

impl NextProfile {
    /// Adds a result that was just taken.
    pub(super) fn push(&mut self, taken: UnnamedProfile) {
        self.start_over_in_child();
        self.unnamed.push(taken);
    }

    /// Adds a profile of process `pid` that its caller did not receive.
    pub(super) fn put_back_profile(&mut self, profile: Arc<CoreProfile>, pid: u32) {
        self.start_over_in_child();
        if self.pid == pid {
            self.unreceived.push(profile);
        }
    }

    /// Adds results that were taken earlier.
    pub(super) fn put_back(&mut self, mut earlier: Self) {
        self.start_over_in_child();
        if self.pid == earlier.pid {
            earlier.unnamed.append(&mut self.unnamed);
            self.unnamed = earlier.unnamed;
            self.unreceived.append(&mut earlier.unreceived);
        }
    }

    /// Forgets the results of the parent. Their generations are the parent's too, so none has to be released.
    fn start_over_in_child(&mut self) {
        if self.pid != fork::pid() {
            *self = Self { pid: fork::pid(), ..Self::default() };
        }
    }

    /// Returns whether the functions can be named in this process.
    pub(super) fn is_from_this_process(&self) -> bool {
        self.unnamed.iter().all(UnnamedProfile::is_from_this_process)
    }

    /// Drops the results without naming them.
    pub(super) fn abandon(self) {
        self.unnamed.into_iter().for_each(UnnamedProfile::abandon);
    }

    /// Builds the profile, at the given pace.
    ///
    /// # Errors
    /// Exceptions that were delivered while Ruby resolved names. Everything is then returned, and can be
    /// requested again.
    pub(super) fn build(self, ruby: &Ruby, pace: Pace) -> Result<CoreProfile, (Self, Error)> {
        match self.unnamed.iter().map(|it| it.query_ruby(ruby, pace)).collect::<Result<Vec<_>, _>>() {
            Err(arrived) => Err((self, arrived)),
            Ok(answers) => Ok(match pace {
                Pace::AtOnce => self.build_with(answers),
                Pace::Yielding => briefly_without_gvl(ruby, || self.build_with(answers)),
            }),
        }
    }

    fn build_with(self, answers: Vec<RubyAnswers>) -> CoreProfile {
        let mut parts: Vec<CoreProfile> = self.unreceived.into_iter().map(Arc::unwrap_or_clone).collect();
        parts.sort_by_key(|it| it.meta.started_at_ns);
        let named = self.unnamed.into_iter().zip(answers);
        parts.extend(named.map(|(it, answers)| it.build_profile(answers)));
        concat(parts)
    }
}
