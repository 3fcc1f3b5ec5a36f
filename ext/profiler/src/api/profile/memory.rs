//! The memory of the process over time, in a profile.

use magnus::{Error, RArray, Ruby};
use profiler_core::memory::history::History;

use crate::api::profile::Profile;
use crate::errors::argument_error;

impl Profile {
    /// Implements `Native.with_memory(profile, rows, ledgers)`: returns the profile with these rows and ledgers
    /// (Strings of JSON) in addition to its own.
    pub(super) fn with_memory(
        ruby: &Ruby,
        rb_self: &Self,
        rows: Vec<String>,
        ledgers: Vec<String>,
    ) -> Result<Self, Error> {
        let more = History::parse(&rows, ledgers).map_err(|why| argument_error(ruby, why))?;
        rb_self.derive(ruby, move |profile| {
            let mut profile = profile.clone();
            profile.memory.add(&more);
            profile
        })
    }

    /// Implements `Native.memory_of(profile)`: returns the rows as JSON, and each ledger as JSON.
    pub(super) fn memory_of(ruby: &Ruby, rb_self: &Self) -> Result<(String, RArray), Error> {
        let memory = &rb_self.core.memory;
        let rows = memory.rows_json();
        Ok((rows, ruby.ary_from_iter(memory.ledgers().iter().map(String::as_str))))
    }

    /// Implements `Native.memory_summary(profile)`: returns what stands out, in lines.
    pub(super) fn memory_summary(&self) -> Vec<String> {
        self.core.memory.summary()
    }
}
