//! The stages of a session, and what each holds.

use std::sync::Arc;

use magnus::value::Opaque;
use magnus::Value;
use profiler_core::pipeline::SessionId;

use super::next_profile::NextProfile;
use super::unnamed_profile::UnnamedProfile;
use crate::options::Config;

/// The stages of a session.
pub(super) enum Life {
    /// The session has not begun.
    New,
    /// The session records.
    Running(Running, NextProfile),
    /// The session has stopped, and its functions have no names yet. Ruby resolves these, and an exception
    /// may arrive during the call.
    Stopped(NextProfile),
    /// The session's Profile exists. It is kept, as an exception may have prevented it from reaching the
    /// caller.
    Finished(Opaque<Value>),
    /// Discarded.
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

    /// Stops with the last result. `None` means that the session belongs to the process that forked this one;
    /// it is then over.
    pub(super) fn stop(&mut self, last: Option<UnnamedProfile>) {
        let Self::Running(_, next) = self else { return };
        let mut next = std::mem::take(next);
        *self = match last {
            Some(last) => {
                next.push(last);
                Self::Stopped(next)
            }
            None => Self::Over,
        };
    }

    /// Returns the next profile, if there will be one.
    pub(super) fn next(&mut self) -> Option<&mut NextProfile> {
        match self {
            Self::Running(_, next) | Self::Stopped(next) => Some(next),
            Self::New | Self::Finished(_) | Self::Over => None,
        }
    }

    /// Drops the results that no caller will receive. Returns the id of the session if it records, so that
    /// the caller ends it.
    pub(super) fn abandon(self) -> Option<SessionId> {
        match self {
            Self::Running(running, next) => {
                next.abandon();
                Some(running.id)
            }
            Self::Stopped(next) => {
                next.abandon();
                None
            }
            Self::New | Self::Finished(_) | Self::Over => None,
        }
    }
}
