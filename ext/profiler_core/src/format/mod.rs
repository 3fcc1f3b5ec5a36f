//! The output formats, one in each file: a [`Profile`] goes in, bytes come out.
//!
//! A format depends on nothing but the profile: no clock, no environment, no file. The same profile always
//! results in the same bytes. Any name that a program can have (a class called `<script>`, a method with a
//! newline in it) stays a name in all of them.

pub mod callgrind;
pub mod cpuprofile;
mod disclosure;
mod display;
pub mod firefox;
mod flame_chart;
pub mod folded;
pub mod html;
mod input;
pub mod json;
mod json_out;
mod length;
pub mod markdown;
mod options;
mod palette;
pub mod pprof;
mod read;
mod registry;
mod sample_series;
pub mod speedscope;
pub mod stackprof;
pub mod svg;
pub mod text;
mod threads;
mod too_short;

use std::io::Write;

use crate::error::Error;
use crate::profile::Profile;

pub use display::display_name;
pub use options::{Options, Style, TextOptions, ThreadFrames};
pub use read::{read, LIMIT_BYTES};
pub use registry::Format;
pub use too_short::{too_short, TooShort};

/// Writes `profile` to `out` as `format`, with default options.
///
/// # Errors
/// Returns [`Error::Io`] if `out` fails. The bytes written before that are of no use.
pub fn write(format: Format, profile: &Profile, out: &mut dyn Write) -> Result<(), Error> {
    write_with(format, profile, &Options::default(), out)
}

/// Writes `profile` to `out` as `format`.
///
/// # Errors Same as for [`write()`], and returns [`Error::NotMeasured`] or [`Error::UnknownLabel`] if the
/// profile lacks the requested sample type or label.
pub fn write_with(
    format: Format,
    profile: &Profile,
    options: &Options,
    out: &mut dyn Write,
) -> Result<(), Error> {
    match format {
        Format::Pprof => pprof::write(profile, out),
        Format::Folded => folded::write(profile, options, out),
        Format::Html => html::write(profile, options, out),
        Format::Svg => svg::write(profile, options, out),
        Format::Speedscope => speedscope::write(profile, options, out),
        Format::Firefox => firefox::write(profile, options, out),
        Format::Cpuprofile => cpuprofile::write(profile, options, out),
        Format::Callgrind => callgrind::write(profile, options, out),
        Format::Stackprof => stackprof::write(profile, options, out),
        Format::Markdown => markdown::write(profile, options, out),
        Format::Json => json::write(profile, options, out),
        Format::Text => text::write(profile, options, out),
    }
}
