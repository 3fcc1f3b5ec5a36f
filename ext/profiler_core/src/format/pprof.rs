//! The native file: a gzipped pprof that every pprof tool opens, and that we read back in full.
//!
//! Data that pprof cannot express is in fields from 5201 on, which other readers skip. They contain the
//! format version, how the profile was recorded, the fates of the ticks, class and method names, threads, the
//! timeline, counts of requests, and the memory over time. `spec/fixtures/profile.proto` describes all of it.
//!
//! Reading returns the profile that was written, with two differences. Aggregated samples without weight are
//! gone, and so is everything that no sample uses. Tables are in the order in which the samples first use
//! them, root first. (A profile fresh from a session is like that already, except for samples without
//! weight.)

mod budget;
pub(crate) mod comments;
mod decode;
mod encode;
mod foreign;
pub(crate) mod messages;
pub(crate) mod tables;
mod timeline;

use std::io::Write;

use flate2::{Compression, GzBuilder};
use prost::Message;

use crate::error::Error;
use crate::profile::Profile;

/// The version of the private fields that this code writes, and the latest that it reads.
pub const VERSION: u64 = 1;

/// Writes the file.
///
/// # Errors
/// Returns [`Error::Io`] if `out` fails.
pub fn write(profile: &Profile, out: &mut dyn Write) -> Result<(), Error> {
    let mut message = encode::encode(profile)?;
    let front = messages::Front {
        format_version: VERSION,
        timeline: message.timeline.take(),
        requests: std::mem::take(&mut message.requests),
        memory: std::mem::take(&mut message.memory),
        ledger: std::mem::take(&mut message.ledger),
    };
    // The header contains no time and no name, so the same profile results in the same bytes.
    let mut packed = GzBuilder::new().mtime(0).write(out, Compression::default());
    packed.write_all(&front.encode_to_vec())?;
    packed.write_all(&message.encode_to_vec())?;
    packed.finish()?;
    Ok(())
}

/// Reads an unpacked file. None of its content is trusted.
pub(super) fn read_unpacked(bytes: &[u8]) -> Result<Profile, Error> {
    budget::check(bytes)?;
    // Read the version by itself first, as a later version may change anything else.
    let head = messages::Head::decode(bytes).map_err(|_| Error::NotAProfile)?;
    let damaged = |error: prost::DecodeError| Error::malformed(error.to_string());
    match head.format_version {
        0 if head.sample_type.is_empty() => Err(Error::NotAProfile),
        0 => foreign::decode(&messages::Profile::decode(bytes).map_err(damaged)?, bytes.len()),
        1..=VERSION => decode::decode(messages::Profile::decode(bytes).map_err(damaged)?, bytes.len()),
        version => Err(Error::Newer { version, known: VERSION }),
    }
}

/// The names of our own labels, which are stored among the user's. A user's label whose name is taken is
/// written with a `_` before it. A name that already looks like that gets one more, so that no name is
/// ambiguous.
mod label_names {
    use std::borrow::Cow;

    pub(super) const THREAD_ID: &str = "thread id";
    pub(super) const THREAD_NAME: &str = "thread name";
    pub(super) const STATE: &str = "state";

    pub(super) fn is_reserved(name: &str) -> bool {
        matches!(name, THREAD_ID | THREAD_NAME | STATE)
    }

    /// Returns whether a name is taken. An empty name is too, as readers refuse it.
    fn needs_escape(name: &str) -> bool {
        let bare = name.trim_start_matches('_');
        bare.is_empty() || is_reserved(bare)
    }

    pub(super) fn escape(name: &str) -> Cow<'_, str> {
        if needs_escape(name) {
            format!("_{name}").into()
        } else {
            name.into()
        }
    }

    pub(super) fn unescape(name: &str) -> &str {
        name.strip_prefix('_').filter(|it| needs_escape(it)).unwrap_or(name)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn label_names_round_trip() {
        for name in ["", "_", "__", "state", "_state", "thread id", "endpoint", "_x", "state_"] {
            let escaped = label_names::escape(name);
            assert!(!escaped.is_empty() && !label_names::is_reserved(&escaped));
            assert_eq!(label_names::unescape(&escaped), name);
        }
    }
}
