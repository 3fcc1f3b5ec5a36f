//! The header of a profile, the statistics of its ticks, and the markers of the app.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::merged::Merged;
use super::note::Note;
use super::tables::Thread;
use crate::record::counters::Counts;

/// The header of a profile: how it was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Meta {
    /// The requested modes: `cpu`, ...
    pub modes: Vec<String>,
    /// The engine: `thread_timer`, `safepoint`.
    pub engine: Cow<'static, str>,
    /// The requested interval, ns.
    pub interval_ns: u64,
    /// The sampling window in objects; 0 if no objects were sampled, or the window was in bytes.
    #[serde(skip_serializing_if = "is_zero")]
    pub every: u64,
    /// The sampling window in bytes; 0 if it was in objects.
    #[serde(skip_serializing_if = "is_zero")]
    pub every_bytes: u64,
    /// The start, ns since 1970 UTC.
    pub started_at_ns: u64,
    /// The length by the wall clock, ns.
    pub duration_ns: u64,
    /// `RUBY_DESCRIPTION` of the process.
    pub ruby: Cow<'static, str>,
    /// `$PROGRAM_NAME` of the process.
    pub program: String,
    /// The id of the process.
    pub pid: u32,
    /// The version of the profiler that recorded the profile.
    pub profiler_version: Cow<'static, str>,
    /// The user's `metadata:`, and under [`NAME`] the title from `name:`.
    pub user: std::collections::BTreeMap<String, String>,
    /// Facts that a reader must know to interpret the numbers correctly.
    pub notes: Vec<Note>,
    /// The origins of a merge; `None` for a single profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merged: Option<Merged>,
}

impl Meta {
    /// Returns whether the profile lacks a part of its time: another part was selected, the session was paused,
    /// limited to labels or ended early, or the profiles of a merge have gaps between them.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        let is_partial = |note: &Note| {
            matches!(
                note,
                Note::Selected { .. }
                    | Note::OnlyUnderLabels { .. }
                    | Note::Paused { .. }
                    | Note::RecordingEnded { .. }
            )
        };
        self.merged.as_ref().is_some_and(|it| it.gaps) || self.notes.iter().any(is_partial)
    }

    /// Returns the time of garbage collection that was left out, ns.
    #[must_use]
    pub fn gc_left_out_ns(&self) -> u64 {
        let left_out = |note: &Note| if let Note::GcLeftOut { ns } = note { *ns } else { 0 };
        self.notes.iter().map(left_out).fold(0, u64::saturating_add)
    }

    /// Returns the time of pauses, ns.
    #[must_use]
    pub fn paused_ns(&self) -> u64 {
        let paused = |note: &Note| if let Note::Paused { ns } = note { *ns } else { 0 };
        self.notes.iter().map(paused).fold(0, u64::saturating_add)
    }

    /// Returns the sentences of a merge, followed by those of the notes.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let merged = self.merged.as_ref().map(Merged::sentences).unwrap_or_default();
        merged.into_iter().chain(self.notes.iter().map(Note::sentence)).collect()
    }
}

/// The key of [`Meta::user`] whose value says how a process that failed has ended: `exit status 1`,
/// `RuntimeError`.
pub const ENDED: &str = "ended";
/// The key of [`Meta::user`] whose value is the title of the profile.
pub const NAME: &str = "name";

/// Returns whether a number is 0. Serde passes a reference to the field.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The fates of the ticks, and the overhead of the profiler itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stats {
    /// The ticks by fate. Counted for the whole process, so concurrent sessions share them.
    pub counts: Counts,
    /// Time spent in signal handlers, ns.
    pub handler_ns: u64,
    /// CPU time of the collector thread, ns.
    pub collector_ns: u64,
    /// The CPU time of the process outside the profile's threads and our own, ns, and at least 1; 0 if the session
    /// did not cover all threads.
    pub unseen_cpu_ns: u64,
    /// The run delay by the kernel's own count, ns: the time that threads which were alive at the end could
    /// run but had no CPU. 0 if the kernel was not asked, or there were more than 64 threads.
    #[serde(skip_serializing_if = "is_zero")]
    pub run_delay_ns: u64,
    /// The time during which the quota of the process's cgroup was used up, ns, summed over CPUs. Workers in
    /// one cgroup share this number.
    #[serde(skip_serializing_if = "is_zero")]
    pub throttled_ns: u64,
    /// The objects allocated during the session, by the VM's own count; 0 if the session did not cover all of them.
    #[serde(skip_serializing_if = "is_zero")]
    pub vm_objects: u64,
    /// The time that stopping took before names were requested, ns.
    pub stop_ns: u64,
    /// The time that naming took, ns.
    pub names_ns: u64,
}

/// A marker of the app: a named interval, or an instant.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct Marker {
    /// The start, ns since 1970 UTC.
    pub started_at_ns: u64,
    /// The length, ns; 0 for an instant.
    pub duration_ns: u64,
    /// The name that the app chose.
    pub name: String,
    /// The thread that recorded it.
    pub thread: Thread,
}
