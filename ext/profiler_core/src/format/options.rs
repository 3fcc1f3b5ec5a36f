//! The options of formats, and what they choose from a profile.

use crate::error::Error;
use crate::profile::{Profile, SampleType, NAME};
use crate::text::clean;

use super::sample_series;

/// The options of the formats. Each format reads those that concern it.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The title of a picture, instead of one made from mode and program.
    pub title: Option<String>,
    /// The sample type to show if only one can be shown, instead of the profile's default.
    pub sample_type: Option<SampleType>,
    /// Whether stacks begin with the name of their thread, if a format has no other place for it.
    pub thread_frames: ThreadFrames,
    /// The layout of a picture.
    pub style: Style,
    /// The options of the report.
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
    /// Returns the title from the options, or else the profile's name, or else a title made from what is
    /// shown and the program.
    pub(crate) fn title_or(&self, profile: &Profile, of: SampleType) -> String {
        if let Some(title) = self.title.as_ref().or_else(|| profile.meta.user.get(NAME)) {
            return clean(title).into_owned();
        }
        let name = of.name_and_unit().0;
        match clean(&profile.meta.program) {
            program if program.is_empty() => name.to_owned(),
            program => format!("{name} of {program}"),
        }
    }

    /// Returns the title or, if there is none, the name of the program's file. A page has the sample type beside
    /// it.
    pub(crate) fn name_of(&self, profile: &Profile, of: SampleType) -> String {
        let program = clean(&profile.meta.program);
        let is_named = self.title.is_some() || profile.meta.user.contains_key(NAME);
        match program.rsplit('/').next().filter(|it| !is_named && !it.is_empty()) {
            Some(file) => file.to_owned(),
            None => self.title_or(profile, of),
        }
    }

    /// Returns the time to show in a format that can show only time.
    pub(crate) fn time_of(&self, profile: &Profile) -> Result<SampleType, Error> {
        let missing = || {
            let has = profile.sample_types.iter().map(|it| it.name_and_unit().0).collect();
            Error::NotMeasured { requested: "time", has }
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

    /// Returns the sample type to show.
    pub(crate) fn sample_type_of(&self, profile: &Profile) -> Result<SampleType, Error> {
        match self.sample_type {
            None => Ok(self.text.by.as_ref().map_or_else(
                || profile.default_sample_type(),
                |label| profile.default_sample_type_by(label),
            )),
            Some(it) if profile.sample_types.contains(&it) => Ok(it),
            Some(it) => {
                let has = profile.sample_types.iter().map(|it| it.name_and_unit().0).collect();
                Err(Error::NotMeasured { requested: it.name_and_unit().0, has })
            }
        }
    }
}

/// The options of the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// The maximum number of functions to list; 0 lists all.
    pub limit: usize,
    /// Whether to sort by total weight instead of self weight.
    pub sort_total: bool,
    /// Whether to colour the report for a terminal.
    pub color: bool,
    /// The maximum number of columns of a line in the table: names and paths are shortened in the middle.
    /// `None` leaves them whole.
    pub width: Option<usize>,
    /// The label whose values are listed instead of functions; see [`group_by`](crate::analysis::group_by).
    pub by: Option<String>,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { limit: 30, sort_total: false, color: false, width: None, by: None }
    }
}

/// The layout of the stacks in a picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Callers above callees.
    #[default]
    Icicle,
    /// Callers below callees.
    Flame,
    /// Callees above callers, to show the callers of the functions that take the time.
    Reverse,
    /// Like an icicle, but from left to right in the order of time, thread by thread.
    Flamechart,
}

impl Style {
    /// All styles with their names.
    pub const ALL: [(&'static str, Self); 4] = [
        ("icicle", Self::Icicle),
        ("flame", Self::Flame),
        ("reverse", Self::Reverse),
        ("flamechart", Self::Flamechart),
    ];

    /// Returns the style of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.0 == name).map(|it| it.1)
    }
}
