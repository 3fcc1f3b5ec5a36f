//! Which of the formats that are JSON it is.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::de::IgnoredAny;

use super::{speedscope, stackprof};
use crate::error::Error;
use crate::profile::Profile;

pub(super) fn read(text: &str) -> Result<Profile, Error> {
    let fields: HashMap<Cow<'_, str>, IgnoredAny> = parse(text)?;
    let has = |names: &[&str]| names.iter().all(|it| fields.contains_key(*it));
    if has(&["shared", "profiles"]) {
        speedscope::read(text)
    } else if has(&["frames", "mode"]) {
        stackprof::read(text)
    } else if has(&["meta", "threads"]) {
        Err(Error::Unreadable { format: "a profile of the Firefox Profiler" })
    } else if has(&["nodes", "samples"]) {
        Err(Error::Unreadable { format: "a .cpuprofile" })
    } else {
        Err(Error::NotAProfile)
    }
}

/// What is nested too deeply is an error as well.
pub(super) fn parse<'text, T: serde::Deserialize<'text>>(text: &'text str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|error| match error.is_eof() {
        true => Error::Truncated,
        false => Error::malformed(format!("its JSON: {error}")),
    })
}
