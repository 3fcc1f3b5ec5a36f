//! The directories at which a session's paths are cut off.

use magnus::value::Qtrue;
use magnus::{prelude::*, Error, RArray, RString, Ruby, TryConvert, Value};

use crate::errors::{Fault, Piece};
use crate::vm::door::{call, Name};
use crate::vm::strings::lossy;

/// Returns absolute directories; `None` if paths stay as they are.
///
/// # Errors
/// ArgumentError for a value that is not true, a directory or an Array of directories.
pub(super) fn roots(ruby: &Ruby, value: Option<Value>) -> Result<Option<Vec<String>>, Error> {
    let Some(value) = value.filter(|value| value.to_bool()) else { return Ok(None) };
    if Qtrue::from_value(value).is_some() {
        return Ok(Some(vec![absolute(ruby, ruby.str_new("."))?]));
    }
    let directories = RArray::from_value(value).unwrap_or_else(|| ruby.ary_new_from_values(&[value]));
    let mut roots = Vec::new();
    for directory in directories {
        let Some(directory) = RString::from_value(directory) else { return Err(wrong(ruby, value)) };
        let path = absolute(ruby, directory);
        // Of a user that does not exist, with a zero byte, or in an encoding such as UTF-16.
        let refused = path.as_ref().is_err_and(|why| {
            why.is_kind_of(ruby.exception_arg_error()) || why.is_kind_of(ruby.exception_encoding_error())
        });
        roots.push(if refused { Err(wrong(ruby, value)) } else { path }?);
    }
    if roots.is_empty() {
        Err(wrong(ruby, value))
    } else {
        Ok(Some(roots))
    }
}

fn wrong(ruby: &Ruby, value: Value) -> Error {
    let pieces = &[Piece::text(" is not true, a directory or an Array of directories")];
    Fault { option: "trim_path", value: Some(value), pieces }.argument_error(ruby)
}

/// Returns `File.expand_path(directory)`.
fn absolute(ruby: &Ruby, directory: RString) -> Result<String, Error> {
    static EXPAND_PATH: Name = Name::new(c"expand_path");
    let path = call(ruby.class_file().as_value(), &EXPAND_PATH, [directory.as_value()])?;
    Ok(lossy(ruby, RString::try_convert(path)?))
}
