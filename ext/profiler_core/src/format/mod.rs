//! Every output, one file each: a [`Profile`] goes in, bytes come out.
//!
//! A format knows the profile and nothing else: no clock, no environment, no file. The same profile
//! always gives the same bytes. Whatever a program can name (a class called `<script>`, a method
//! with a newline in it) stays a name in all of them.

pub mod folded;
mod honesty;
pub mod pprof;
pub mod svg;
pub mod text;
pub mod units;

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;

use crate::error::Error;
use crate::profile::{Function, Profile, SampleType};

pub use text::TextOptions;

/// The outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The native file, which every pprof tool opens: [`pprof`].
    Pprof,
    /// One line a stack: [`folded`].
    Folded,
    /// A picture: [`svg`].
    Svg,
    /// A report to read: [`text`].
    Text,
}

impl Format {
    /// All, in the order in which they are listed to users.
    pub const ALL: [Self; 4] = [Self::Pprof, Self::Folded, Self::Svg, Self::Text];

    /// The name that `format:` takes.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pprof => "pprof",
            Self::Folded => "folded",
            Self::Svg => "svg",
            Self::Text => "text",
        }
    }

    /// How its files' names end.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Pprof => ".pb.gz",
            Self::Folded => ".folded",
            Self::Svg => ".svg",
            Self::Text => ".txt",
        }
    }

    /// All names, for texts that list them.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::ALL.into_iter().map(Self::name)
    }

    /// All extensions, for texts that list them.
    pub fn extensions() -> impl Iterator<Item = &'static str> {
        Self::ALL.into_iter().map(Self::extension)
    }

    /// The format of this name.
    ///
    /// # Errors
    /// [`Error::UnknownFormat`], which lists those there are.
    pub fn from_name(name: &str) -> Result<Self, Error> {
        let unknown = || Error::UnknownFormat { asked: name.into() };
        Self::ALL.into_iter().find(|it| it.name() == name).ok_or_else(unknown)
    }

    /// The format that the end of the path names; capital letters count as small ones.
    ///
    /// # Errors
    /// [`Error::UnknownExtension`], which lists those there are.
    pub fn from_path(path: &Path) -> Result<Self, Error> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let unknown = || Error::UnknownExtension { path: path.to_string_lossy().into_owned() };
        Self::ALL.into_iter().find(|it| name.ends_with(it.extension())).ok_or_else(unknown)
    }
}

/// What can be asked of the formats. Each looks at what concerns it.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Title of a picture, instead of one made of mode and program.
    pub title: Option<String>,
    /// What to show where only one sample type can be shown, instead of the profile's default.
    pub sample_type: Option<SampleType>,
    /// Whether stacks begin with their thread's name, where a format has no other room for it.
    pub thread_frames: ThreadFrames,
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
        Format::Text => text::write(profile, options, out),
    }
}

/// `text` on one line and harmless to terminals and pages: what is no visible character becomes a
/// blank, blanks at the ends go. Characters that turn the direction of writing count as invisible:
/// they make a name look like another.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
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
    fn a_path_tells_its_format() {
        let of = |path: &str| Format::from_path(Path::new(path));
        assert_eq!(of("tmp/cpu.pb.gz").unwrap(), Format::Pprof);
        assert_eq!(of("CPU.SVG").unwrap(), Format::Svg);
        assert_eq!(of("cpu.pb.folded").unwrap(), Format::Folded);
        assert_eq!(of("a.txt").unwrap(), Format::Text);
        assert_eq!(
            of("a.json").unwrap_err().to_string(),
            "the name \"a.json\" tells no format (known are .pb.gz, .folded, .svg, .txt)"
        );
        assert!(of("folder.svg/..").is_err());
    }

    #[test]
    fn a_name_tells_its_format() {
        Format::ALL.into_iter().for_each(|it| assert_eq!(Format::from_name(it.name()).unwrap(), it));
        assert_eq!(
            Format::from_name("png").unwrap_err().to_string(),
            "unknown format \"png\" (known are pprof, folded, svg, text)"
        );
    }

    #[test]
    fn clean_text_is_one_harmless_line() {
        assert_eq!(clean(" Foo#b\nar\u{1b}[31m "), "Foo#b ar [31m");
        assert_eq!(clean("a\u{202e}b\u{ffff}"), "a b");
        assert_eq!(clean("Größe#長さ"), "Größe#長さ");
    }
}
