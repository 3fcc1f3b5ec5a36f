//! Formats, units and texts, for the Ruby part; no function here is about a single profile.

use magnus::{function, Error, Object, RArray, RModule, RString, Ruby};
use profiler_core::format::Format;
use profiler_core::profile::SampleType;
use profiler_core::text::{self, units};
use profiler_core::upload;

use crate::errors::core_error;
use crate::vm::strings::FilePath;
use crate::vm::without_gvl::without_gvl;

/// Implements `Native.check_format(name)`: raises unless there is a format of that name.
fn check_format(ruby: &Ruby, name: String) -> Result<(), Error> {
    Format::from_name(&name).map(drop).map_err(|reason| core_error(ruby, &reason))
}

/// Implements `Native.format_of(path)`: returns the format of a file's extension.
fn format_of(ruby: &Ruby, path: FilePath) -> Result<&'static str, Error> {
    Format::from_path(&path.0).map(Format::name).map_err(|reason| core_error(ruby, &reason))
}

/// Implements `Native.packs(path, format)`: returns whether a file of that path is packed by gzip.
fn packs(ruby: &Ruby, path: FilePath, name: String) -> Result<bool, Error> {
    let format = Format::from_name(&name).map_err(|reason| core_error(ruby, &reason))?;
    Ok(format.packs(&path.0))
}

/// Implements `Native.gzip(bytes)`: returns the bytes packed by gzip.
fn gzip(ruby: &Ruby, bytes: RString) -> Result<RString, Error> {
    // SAFETY: the bytes are copied before Ruby runs again.
    let bytes = unsafe { bytes.as_slice() }.to_vec();
    let packed = without_gvl(ruby, move |_abandoned| upload::gzip(&bytes))?;
    packed.map(|it| ruby.str_from_slice(&it)).map_err(|reason| core_error(ruby, &reason))
}

/// Implements `Native.amount(type, weight)`: returns the weight in readable form, such as `1.23 s`.
fn amount(name: String, weight: u64) -> String {
    let of = SampleType::ALL.into_iter().find(|it| it.name_and_unit().0 == name);
    of.unwrap_or(SampleType::Samples).amount(weight)
}

/// Implements `Native.percent(part, whole)`: returns a percentage such as `12.3%`.
fn percent(part: u64, whole: u64) -> String {
    units::percent(part, whole)
}

/// Implements `Native.clean(text)`: returns the text on one line and harmless to terminals.
fn clean(text: String) -> String {
    text::clean(&text).into_owned()
}

/// Implements `Native.code(text)`: returns a name for a cell of a Markdown table.
fn code(text: String) -> String {
    text::code(&text)
}

/// Implements `Native.formats`: returns name and extension of each format.
fn formats(ruby: &Ruby) -> RArray {
    ruby.ary_from_iter(Format::all().map(|it| (it.name(), it.extension())))
}

/// Defines the functions.
pub(super) fn init(native: RModule) -> Result<(), Error> {
    native.define_singleton_method("packs", function!(packs, 2))?;
    native.define_singleton_method("gzip", function!(gzip, 1))?;
    native.define_singleton_method("amount", function!(amount, 2))?;
    native.define_singleton_method("percent", function!(percent, 2))?;
    native.define_singleton_method("clean", function!(clean, 1))?;
    native.define_singleton_method("code", function!(code, 1))?;
    native.define_singleton_method("formats", function!(formats, 0))?;
    native.define_singleton_method("format_of", function!(format_of, 1))?;
    native.define_singleton_method("check_format", function!(check_format, 1))
}
