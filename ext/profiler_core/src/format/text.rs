//! The report that people read: how the profile was taken, then where the weight is.

mod groups;
mod header;
mod table;

use std::io::Write;

pub(super) use header::facts;

use super::Options;
use crate::error::Error;
use crate::profile::Profile;

/// Writes the report.
///
/// # Errors
/// [`Error::Io`] when `out` fails, [`Error::NotMeasured`] or [`Error::UnknownLabel`] when the profile lacks the
/// requested sample type or label.
pub fn write(profile: &Profile, options: &Options, out: &mut dyn Write) -> Result<(), Error> {
    let of = options.sample_type_of(profile)?;
    let paint = Paint { on: options.text.color };
    let mut report = header::header(profile, paint);
    report.push('\n');
    report.push_str(&match &options.text.by {
        None => table::table(profile, of, &options.text, paint),
        Some(label) => groups::table(profile, label, of, &options.text, paint)?,
    });
    Ok(out.write_all(report.as_bytes())?)
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

    /// The more it is, the warmer.
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
