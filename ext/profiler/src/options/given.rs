//! The options of a session, as they come from Ruby.

use magnus::{prelude::*, RArray, Value};

/// The options in the order in which Ruby hands them over; what is nil was not given.
pub(super) struct Given {
    pub(super) mode: Option<Value>,
    pub(super) interval: Option<Value>,
    pub(super) frequency: Option<Value>,
    pub(super) threads: Option<Value>,
    pub(super) labels: Option<Value>,
    pub(super) static_labels: Option<Value>,
    pub(super) depth: Option<Value>,
    pub(super) engine: Option<Value>,
    pub(super) metadata: Option<Value>,
    pub(super) trim_path: Option<Value>,
    pub(super) gc: Option<Value>,
    pub(super) timeline: Option<Value>,
    pub(super) fibers: Option<Value>,
    pub(super) every: Option<Value>,
    pub(super) every_bytes: Option<Value>,
}

impl Given {
    pub(super) fn from_ruby(options: RArray) -> Self {
        let mut place = -1;
        let mut next = || {
            place += 1;
            options.entry(place).ok().filter(|value: &Value| !value.is_nil())
        };
        Self {
            mode: next(),
            interval: next(),
            frequency: next(),
            threads: next(),
            labels: next(),
            static_labels: next(),
            depth: next(),
            engine: next(),
            metadata: next(),
            trim_path: next(),
            gc: next(),
            timeline: next(),
            fibers: next(),
            every: next(),
            every_bytes: next(),
        }
    }
}
