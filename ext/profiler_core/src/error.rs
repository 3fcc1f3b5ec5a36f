//! The errors of this crate, in words for the user.
//!
//! The texts are the ends of sentences: the caller puts the path and a colon before them.

use std::fmt;
use std::io;

use crate::text::clean;

/// The formats that can be read.
const READABLE: &str =
    "pprof, a .html that profiler wrote, JSON of speedscope, stackprof, vernier, rperf or the Firefox Profiler, and folded stacks \
    are read, packed by gzip or not";

/// An error. Its text is the end of a sentence.
#[derive(Debug)]
pub enum Error {
    /// Reading or writing failed.
    Io(io::Error),
    /// A directory that is not safe to write to.
    Directory {
        /// The path.
        path: String,
        /// The end of the sentence.
        wrong: &'static str,
    },
    /// The bytes are not a profile at all.
    NotAProfile,
    /// The file is a dump of stackprof by Ruby's Marshal.
    StackprofDump,
    /// The file ends before its data does.
    Truncated,
    /// The file unpacks to more than we are willing to hold in memory.
    TooLarge {
        /// The maximum that is read, in bytes.
        limit: u64,
    },
    /// A text in which names are repeated would become longer than we are willing to write.
    TooLong {
        /// The length of the text, in bytes.
        bytes: u64,
        /// The most that is written, in bytes.
        limit: u64,
    },
    /// The file is our own, but its data contradicts itself.
    Malformed {
        /// The contradiction.
        reason: String,
    },
    /// The profile is in a format that is only written.
    Unreadable {
        /// The name of the format.
        format: &'static str,
    },
    /// The file was written by a later version of the profiler.
    Newer {
        /// The format version of the file.
        version: u64,
        /// The latest format version that we can read.
        known: u64,
    },
    /// No format has this name.
    UnknownFormat {
        /// The name.
        requested: String,
        /// The names of all formats.
        known: Vec<&'static str>,
    },
    /// The extension of the path belongs to no format.
    UnknownExtension {
        /// The path.
        path: String,
        /// The extensions of all formats.
        known: Vec<&'static str>,
    },
    /// The profile does not measure the requested sample type.
    NotMeasured {
        /// The name of the sample type.
        requested: &'static str,
        /// The names of the sample types that it has, in order.
        has: Vec<&'static str>,
    },
    /// The request needs a timeline, and the profile has none.
    NoTimeline,
    /// No sample has this label.
    UnknownLabel {
        /// The name.
        requested: String,
        /// The names of the labels that there are.
        has: Vec<String>,
    },
}

impl Error {
    pub(crate) fn malformed(reason: impl Into<String>) -> Self {
        Self::Malformed { reason: reason.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(to),
            Self::NotAProfile => write!(to, "not a profile: {READABLE}"),
            Self::StackprofDump => to.write_str(
                "a stackprof dump, which is not read because that could run code: convert it with stackprof --json FILE > FILE.json",
            ),
            Self::Truncated => to.write_str("a profile that was cut short: the end of the file is missing"),
            Self::TooLarge { limit } => {
                write!(to, "too large to read: it unpacks to more than {} MiB", limit >> 20)
            }
            Self::TooLong { bytes, limit } => write!(
                to,
                "its stacks come to {} MiB of text, and at most {} are written in this format (filter the profile)",
                bytes >> 20,
                limit >> 20
            ),
            Self::Malformed { reason } => write!(to, "a damaged profile: {reason}"),
            Self::Unreadable { format } => write!(to, "{format}, which cannot be read: {READABLE}"),
            Self::Newer { version, known } => write!(
                to,
                "written by a newer profiler (format version {version}; this one reads up to {known})"
            ),
            Self::UnknownFormat { requested, known } => {
                write!(to, "unknown format {requested:?} (allowed: {})", known.join(", "))
            }
            Self::UnknownExtension { path, known } => {
                write!(to, "cannot infer a format from {path:?} (known extensions: {})", known.join(", "))
            }
            Self::NotMeasured { requested, has } => {
                write!(to, "the profile has no {requested} (it has {})", has.join(", "))
            }
            Self::NoTimeline => {
                to.write_str("the profile has no timeline (record it with --timeline, or timeline: true)")
            }
            Self::Directory { path, wrong } => write!(to, "out: {path} {wrong}"),
            Self::UnknownLabel { requested, has } => {
                // The names come from the profiled program, so from anybody.
                let has: Vec<_> = has.iter().map(|it| clean(it)).collect();
                write!(to, "no sample has a label {requested:?} (there are {})", has.join(", "))
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
