//! The report for people: what stands out, how the profile was recorded, and where the weight is.

mod cells;
mod changes;
mod findings;
mod groups;
mod header;
mod markers;
mod methods;
mod ranking;
mod requires;
mod requires_diff;
mod source;
mod table;
mod tree;

use std::io::Write;

pub use cells::Fit;
pub use changes::{Changes, Selected};
pub use markers::markers;
pub use methods::methods;
pub use ranking::{By, Ranked, Ranking, RankingPage};
pub use requires::required;
pub use requires_diff::required_changes;
pub use source::{end_of, sources, SourceWeights};
pub use tree::{tree, Shown};

pub(super) use changes::summary;
pub(super) use findings::place_of;
pub(super) use header::facts;

use super::Options;
use crate::analysis::findings::findings as find;
use crate::error::Error;
use crate::profile::Profile;

/// Writes the report.
///
/// # Errors
/// Returns [`Error::Io`] if `out` fails, and [`Error::NotMeasured`] or [`Error::UnknownLabel`] if the profile
/// lacks the requested sample type or label.
pub fn write(profile: &Profile, options: &Options, out: &mut dyn Write) -> Result<(), Error> {
    let of = options.sample_type_of(profile)?;
    let paint = Paint { on: options.text.color };
    let mut report = String::new();
    if options.text.by.is_none() {
        report = findings::lines(profile, &find(profile), options.text.width, paint);
        report.push('\n');
    }
    report.push_str(&header::header(profile, options.text.width, paint));
    report.push('\n');
    report.push_str(&match &options.text.by {
        None => table::table(profile, of, &options.text, paint),
        Some(label) => groups::table(profile, label, of, &options.text, paint)?,
    });
    for (place, line) in profile.memory.summary().iter().enumerate() {
        report.push_str(if place == 0 { "\nMemory: " } else { "  " });
        report.push_str(line);
        report.push('\n');
    }
    Ok(out.write_all(report.as_bytes())?)
}

/// Returns the findings as in the report: one line each, of at most `width` columns.
#[must_use]
pub fn findings(profile: &Profile, width: Option<usize>, color: bool) -> String {
    findings::lines(profile, &find(profile), width, Paint { on: color })
}

/// Colours for terminals, or none.
#[derive(Clone, Copy)]
struct Paint {
    on: bool,
}

impl Paint {
    fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    /// Colours a share: the larger it is, the warmer the colour.
    fn share(self, text: &str, part: u64, whole: u64) -> String {
        match part as f64 / whole.max(1) as f64 {
            share if share >= 0.1 => self.with("1;31", text),
            share if share >= 0.02 => self.with("33", text),
            _ => text.to_owned(),
        }
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.on {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}
