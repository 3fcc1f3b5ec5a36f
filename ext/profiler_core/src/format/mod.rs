//! Every output, one file each: a [`Profile`] goes in, bytes come out.
//!
//! A format knows the profile and nothing else: no clock, no environment, no file. The same profile
//! always gives the same bytes. Whatever a program can name (a class called `<script>`, a method
//! with a newline in it) stays a name in all of them.

pub mod callgrind;
pub mod cpuprofile;
mod disclosure;
pub mod firefox;
mod flame_chart;
pub mod folded;
pub mod json;
mod json_out;
mod length;
pub mod markdown;
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

use std::borrow::Cow;
use std::io::Write;

use crate::error::Error;
use crate::profile::{Function, Profile, SampleType};

pub use read::read;
pub use registry::Format;
pub use svg::Style;
pub use text::TextOptions;

/// What can be asked of the formats. Each looks at what concerns it.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Title of a picture, instead of one made of mode and program.
    pub title: Option<String>,
    /// What to show where only one sample type can be shown, instead of the profile's default.
    pub sample_type: Option<SampleType>,
    /// Whether stacks begin with their thread's name, where a format has no other room for it.
    pub thread_frames: ThreadFrames,
    /// How a picture is drawn.
    pub style: Style,
    /// Options of the report.
    pub text: TextOptions,
}

/// Whether stacks begin with the name of their thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThreadFrames {
    /// When the profile has more than one thread.
    #[default]
    WhenSeveral,
    /// Always.
    Always,
    /// Never: the stacks of all threads are merged.
    Never,
}

impl Options {
    /// The title that was asked for, or one of what is shown and of the program.
    pub(crate) fn title_or(&self, profile: &Profile, of: SampleType) -> String {
        if let Some(title) = &self.title {
            return clean(title).into_owned();
        }
        let name = of.name_and_unit().0;
        match clean(&profile.meta.program) {
            program if program.is_empty() => name.to_owned(),
            program => format!("{name} of {program}"),
        }
    }

    /// The time to show, where nothing but time can be shown.
    pub(crate) fn time_of(&self, profile: &Profile) -> Result<SampleType, Error> {
        let missing = || {
            let has = profile.sample_types.iter().map(|it| it.name_and_unit().0).collect();
            Error::NotMeasured { asked: "time", has }
        };
        match self.sample_type {
            None if profile.sample_types.is_empty() => Ok(SampleType::Cpu),
            None => sample_series::time_of(profile).ok_or_else(missing),
            Some(_) => self.sample_type_of(profile).and_then(|it| match it.name_and_unit().1 {
                "nanoseconds" => Ok(it),
                _ => Err(missing()),
            }),
        }
    }

    /// The sample type to show.
    pub(crate) fn sample_type_of(&self, profile: &Profile) -> Result<SampleType, Error> {
        match self.sample_type {
            None => Ok(profile.default_sample_type()),
            Some(it) if profile.sample_types.contains(&it) => Ok(it),
            Some(it) => {
                let has = profile.sample_types.iter().map(|it| it.name_and_unit().0).collect();
                Err(Error::NotMeasured { asked: it.name_and_unit().0, has })
            }
        }
    }
}

/// Writes `profile` to `out` as `format`, with default options.
///
/// # Errors
/// [`Error::Io`] when `out` fails. What was written before then is of no use.
pub fn write(format: Format, profile: &Profile, out: &mut dyn Write) -> Result<(), Error> {
    write_with(format, profile, &Options::default(), out)
}

/// Writes `profile` to `out` as `format`.
///
/// # Errors
/// As [`write()`], and [`Error::NotMeasured`] or [`Error::UnknownLabel`] when the options ask for what
/// the profile has not.
pub fn write_with(
    format: Format,
    profile: &Profile,
    options: &Options,
    out: &mut dyn Write,
) -> Result<(), Error> {
    match format {
        Format::Pprof => pprof::write(profile, out),
        Format::Folded => folded::write(profile, options, out),
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

/// `text` on one line and harmless to terminals and pages: what is no visible character becomes a
/// blank, blanks at the ends go. Characters that turn the direction of writing count as invisible:
/// they make a name look like another.
#[must_use]
pub fn clean(text: &str) -> Cow<'_, str> {
    let harmful = |it: char| {
        it.is_control()
            || matches!(it, '\u{2028}' | '\u{2029}' | '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}')
            || matches!(it, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
    };
    if text.contains(harmful) {
        Cow::Owned(text.replace(harmful, " ").trim().to_owned())
    } else {
        Cow::Borrowed(text.trim())
    }
}

/// The function's name for people; never empty.
pub(crate) fn display_name(function: &Function) -> Cow<'_, str> {
    match clean(&function.name) {
        name if name.is_empty() => Cow::Borrowed("(no name)"),
        name => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clean_text_is_one_harmless_line() {
        assert_eq!(clean(" Foo#b\nar\u{1b}[31m "), "Foo#b ar [31m");
        assert_eq!(clean("a\u{202e}b\u{ffff}"), "a b");
        assert_eq!(clean("Größe#長さ"), "Größe#長さ");
    }
}
