//! A process as it describes itself.

use serde::Serialize;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Who {
    /// Its id, in its own namespace.
    pub pid: u32,
    /// Its command line.
    pub program: String,
    /// `RUBY_DESCRIPTION`.
    pub ruby: String,
    /// The version of the profiler in it.
    pub profiler: String,
    /// The seconds for which it has lived, if that is known.
    pub age_s: Option<f64>,
    /// Its Ruby threads.
    pub threads: usize,
    /// Its sessions with samples; nothing while they change.
    pub sessions: Option<usize>,
}

impl Who {
    /// Its line of JSON, without its end.
    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
