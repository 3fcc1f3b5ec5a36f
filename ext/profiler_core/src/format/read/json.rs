//! The reader of JSON formats, which recognises the format of a file.

use serde::de::{IgnoredAny, MapAccess, Visitor};

use super::{firefox, rperf, speedscope, stackprof};
use crate::error::Error;
use crate::profile::Profile;

pub(super) fn read(text: &str) -> Result<Profile, Error> {
    let Fields(fields) = parse(text)?;
    let has = |names: &[&str]| names.iter().all(|it| fields.contains(it));
    if has(&["shared", "profiles"]) {
        speedscope::read(text)
    } else if has(&["frames", "mode"]) {
        stackprof::read(text)
    } else if has(&["meta", "threads"]) {
        firefox::read(text)
    } else if has(&["mode", "aggregated_samples"]) || has(&["mode", "raw_samples"]) {
        rperf::read(text)
    } else if has(&["nodes", "samples"]) {
        Err(Error::Unreadable { format: "a .cpuprofile" })
    } else {
        Err(Error::NotAProfile)
    }
}

/// Parses JSON. Nesting that is too deep is an error as well.
pub(super) fn parse<'text, T: serde::Deserialize<'text>>(text: &'text str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|error| {
        if error.is_eof() {
            Error::Truncated
        } else {
            Error::malformed(format!("its JSON: {error}"))
        }
    })
}

/// The fields that identify the formats, as far as the object has them. It can have millions of others.
struct Fields(Vec<&'static str>);

const KNOWN: [&str; 10] = [
    "shared",
    "profiles",
    "frames",
    "mode",
    "meta",
    "threads",
    "nodes",
    "samples",
    "aggregated_samples",
    "raw_samples",
];

impl<'de> serde::Deserialize<'de> for Fields {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Names;
        impl<'de> Visitor<'de> for Names {
            type Value = Fields;
            fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                to.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(name) = map.next_key::<std::borrow::Cow<'_, str>>()? {
                    let known = KNOWN.into_iter().find(|it| *it == name);
                    fields.extend(known.filter(|it| !fields.contains(it)));
                    map.next_value::<IgnoredAny>()?;
                }
                Ok(Fields(fields))
            }
        }
        from.deserialize_map(Names)
    }
}
