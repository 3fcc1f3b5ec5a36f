//! The header of a profile, the fates of its ticks, and the markers of the app.

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
    /// The sampling window in objects; 0 where none was sampled, or the window was in bytes.
    #[serde(skip_serializing_if = "is_nothing")]
    pub every: u64,
    /// The sampling window in bytes; 0 where it was in objects.
    #[serde(skip_serializing_if = "is_nothing")]
    pub every_bytes: u64,
    /// Start, ns since 1970 UTC.
    pub started_at_ns: u64,
    /// Wall clock length, ns.
    pub duration_ns: u64,
    /// `RUBY_DESCRIPTION` of the process.
    pub ruby: Cow<'static, str>,
    /// `$PROGRAM_NAME` of the process.
    pub program: String,
    /// Its process id.
    pub pid: u32,
    /// Version of the profiler that took it.
    pub profiler_version: Cow<'static, str>,
    /// The user's `metadata:`, and under [`NAME`] the title from `name:`.
    pub user: std::collections::BTreeMap<String, String>,
    /// Facts that a reader must know to read the numbers right.
    pub notes: Vec<Note>,
    /// The origins of a merge; nothing for a single profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merged: Option<Merged>,
}

impl Meta {
    /// The sentences of a merge, then those of the notes.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let merged = self.merged.as_ref().map(Merged::sentences).unwrap_or_default();
        merged.into_iter().chain(self.notes.iter().map(Note::sentence)).collect()
    }
}

/// The key of the metadata that says how a process ended that failed: `exit status 1`, `RuntimeError`.
pub const ENDED: &str = "ended";
/// The key of [`Meta::user`] whose value is the profile's title.
pub const NAME: &str = "name";

/// Serde hands over what it would write.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_nothing(number: &u64) -> bool {
    *number == 0
}

/// The fates of the ticks, and the cost of the profiler itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stats {
    /// Ticks by fate. Process-wide: with several sessions at once they share them.
    pub counts: Counts,
    /// Time spent in signal handlers, ns.
    pub handler_ns: u64,
    /// CPU time of the collector thread, ns.
    pub collector_ns: u64,
    /// CPU time of the process outside the profile's threads and our own, ns; 0 where the session was not to see all threads.
    pub unseen_cpu_ns: u64,
    /// Run delay by the kernel's own count, ns: threads that lived at the end could run and had no CPU. It is 0 where it was not
    /// asked, or there were more than 64 threads.
    #[serde(skip_serializing_if = "is_nothing")]
    pub run_delay_ns: u64,
    /// Time for which the quota of the process's cgroup was used up, ns, summed over CPUs. Workers of one cgroup have the same.
    #[serde(skip_serializing_if = "is_nothing")]
    pub throttled_ns: u64,
    /// Objects allocated meanwhile, by the VM's own count; 0 where the session was not to see all of them.
    #[serde(skip_serializing_if = "is_nothing")]
    pub vm_objects: u64,
    /// Time that stopping took before names were requested, ns.
    pub stop_ns: u64,
    /// Time that naming took, ns.
    pub names_ns: u64,
}

/// A marker of the app: a named interval, or an instant.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct Marker {
    /// Begin, ns since 1970 UTC.
    pub started_at_ns: u64,
    /// Length, ns; 0 is an instant.
    pub duration_ns: u64,
    /// The app's name for it.
    pub name: String,
    /// The thread that recorded it.
    pub thread: Thread,
}
