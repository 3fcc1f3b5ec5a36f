//! Options of Ruby's methods, as Ruby passes them: a Hash with Symbols. An option that is nil or missing
//! takes its default.

use magnus::{value::ReprValue, Error, RHash, Ruby, TryConvert, Value};
use profiler_core::format::{self, Style, TextOptions};
use profiler_core::profile::{Profile, SampleType};

use crate::errors::argument_error;

/// Returns the option of that name, or `None` if it is nil or missing.
pub(super) fn option<T: TryConvert>(ruby: &Ruby, options: RHash, name: &str) -> Result<Option<T>, Error> {
    let value: Option<Value> = options.lookup(ruby.to_symbol(name))?;
    value.filter(|it| !it.is_nil()).map(T::try_convert).transpose()
}

/// Returns whether the option is present and true.
pub(super) fn flag(ruby: &Ruby, options: RHash, name: &str) -> Result<bool, Error> {
    Ok(option(ruby, options, name)?.unwrap_or(false))
}

/// Returns the sample type that `type:` names, or else the one that the profile shows by default.
pub(super) fn sample_type(ruby: &Ruby, profile: &Profile, options: RHash) -> Result<SampleType, Error> {
    Ok(requested_type(ruby, profile, options)?.unwrap_or_else(|| profile.default_sample_type()))
}

/// Returns the sample type that `type:` names, or else the one that a table by this label shows by default.
pub(super) fn sample_type_by(
    ruby: &Ruby,
    profile: &Profile,
    label: &str,
    options: RHash,
) -> Result<SampleType, Error> {
    Ok(requested_type(ruby, profile, options)?.unwrap_or_else(|| profile.default_sample_type_by(label)))
}

fn requested_type(ruby: &Ruby, profile: &Profile, options: RHash) -> Result<Option<SampleType>, Error> {
    let Some(name) = option::<String>(ruby, options, "type")? else { return Ok(None) };
    let name_of = |it: &SampleType| it.name_and_unit().0;
    let found = profile.sample_types.iter().copied().find(|it| name_of(it) == name);
    let has: Vec<&str> = profile.sample_types.iter().map(name_of).collect();
    let missing = || argument_error(ruby, format!("the profile has no {name:?} (it has {})", has.join(", ")));
    found.map(Some).ok_or_else(missing)
}

/// Reads the options of formats: `type title style limit sort_total color by width`.
pub(super) fn of_formats(ruby: &Ruby, profile: &Profile, options: RHash) -> Result<format::Options, Error> {
    let style = match option::<String>(ruby, options, "style")? {
        None => Style::default(),
        Some(name) => Style::from_name(&name).ok_or_else(|| {
            let known: Vec<&str> = Style::ALL.iter().map(|it| it.0).collect();
            argument_error(ruby, format!("unknown style {name:?} (allowed: {})", known.join(", ")))
        })?,
    };
    let usual = TextOptions::default();
    let text = TextOptions {
        limit: option(ruby, options, "limit")?.unwrap_or(usual.limit),
        sort_total: flag(ruby, options, "sort_total")?,
        color: flag(ruby, options, "color")?,
        by: option(ruby, options, "by")?,
        width: option(ruby, options, "width")?,
    };
    Ok(format::Options {
        style,
        text,
        title: option(ruby, options, "title")?,
        sample_type: requested_type(ruby, profile, options)?,
        ..format::Options::default()
    })
}
