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
    /// It has not begun.
    New,
    /// It records.
    Running(Running, NextProfile),
    /// It has stopped, and its functions have no names yet. Ruby resolves these, and an exception may arrive meanwhile.
    Stopped(NextProfile),
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

    /// Stops with what was taken last. `None` is for a session of the process that forked this one, which is over then.
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

    /// The next profile, if there will be one.
    pub(super) fn next(&mut self) -> Option<&mut NextProfile> {
        match self {
            Self::Running(_, next) | Self::Stopped(next) => Some(next),
            Self::New | Self::Finished(_) | Self::Over => None,
        }
    }

    /// Drops what no caller will receive. The id of the session, if it records: it is to be ended.
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
