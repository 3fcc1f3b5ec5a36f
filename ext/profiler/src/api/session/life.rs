//! The stages of a session, and what each holds.

use std::sync::Arc;

use magnus::value::Opaque;
use magnus::Value;
use profiler_core::pipeline::SessionId;
use profiler_core::profile::Profile as CoreProfile;

use super::result::Stopped;
use super::results::Results;
use crate::options::Config;

/// The stages of a session.
pub(super) enum Life {
    /// It has not begun.
    New,
    /// It records. Results of rotations may not have reached the caller.
    Running(Running, Results),
    /// It has stopped, and its functions have no names yet. Ruby resolves these, and an exception may arrive meanwhile.
    Stopped(Results),
    /// Its Profile exists. It is kept, as it may not have reached the caller for the same reason.
    Finished(Opaque<Value>),
    /// It was discarded.
    Over,
}

/// A session that records.
#[derive(Clone, Debug)]
pub(super) struct Running {
    pub(super) id: SessionId,
    pub(super) config: Arc<Config>,
}

impl Life {
    pub(super) fn running(&self) -> Option<&Running> {
        match self {
            Self::Running(running, _) => Some(running),
            _ => None,
        }
    }

    /// Drops the results of a session that has stopped.
    pub(super) fn abandon(self) {
        if let Self::Stopped(results) = self {
            results.abandon();
        }
    }

    /// Adds the result of a rotation, and takes all that makes its profile.
    pub(super) fn rotated(&mut self, next: Stopped) -> Results {
        let mut alone = Results::default();
        let results = self.results().unwrap_or(&mut alone);
        results.push(next);
        results.take()
    }

    /// Keeps the profile of a rotation until the caller is known to have it.
    pub(super) fn keep(&mut self, profile: &Arc<CoreProfile>, number: u64) {
        if let Some(results) = self.results() {
            results.keep(Arc::clone(profile), number);
        }
    }

    /// Puts results back that could not be named.
    pub(super) fn put_back(&mut self, earlier: Results) {
        match self.results() {
            Some(results) => results.put_back(earlier),
            None => earlier.abandon(),
        }
    }

    pub(super) fn results(&mut self) -> Option<&mut Results> {
        match self {
            Self::Running(_, results) | Self::Stopped(results) => Some(results),
            Self::New | Self::Finished(_) | Self::Over => None,
        }
    }
}
