//! A process's description of itself.

use serde::Serialize;

/// The description of a process.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Who {
    /// The process id, in the process's own namespace.
    pub pid: u32,
    /// The command line of the process.
    pub program: String,
    /// `RUBY_DESCRIPTION`.
    pub ruby: String,
    /// The version of the profiler in the process.
    pub profiler: String,
    /// The age of the process in seconds, if it is known.
    pub age_s: Option<f64>,
    /// The number of Ruby threads.
    pub threads: usize,
    /// The number of sessions with samples; `None` while sessions are being changed.
    pub sessions: Option<usize>,
}

impl Who {
    /// Returns the description as one line of JSON, without the line end.
    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
