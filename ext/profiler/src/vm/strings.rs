//! The contents of Ruby's strings, in any encoding.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use magnus::rb_sys::{AsRawValue, FromRawValue};
use magnus::{prelude::*, Error, Float, Integer, RModule, RString, Ruby, Symbol, TryConvert, Value};

use super::door::{call, Name};

/// Returns the text in UTF-8. Bytes that represent no character become U+FFFD.
pub(crate) fn lossy(ruby: &Ruby, text: RString) -> String {
    let read = |text: RString| {
        // SAFETY: no Ruby code runs while the slice is read.
        String::from_utf8_lossy(unsafe { text.as_slice() }).into_owned()
    };
    if text.is_utf8_compatible_encoding() {
        return read(text);
    }
    // Also bytes that are valid UTF-8 can mean other characters, as all of ASCII in UTF-16. A text that cannot be
    // converted is returned unchanged.
    read(text.conv_enc(ruby.utf8_encoding()).unwrap_or(text))
}

/// Returns the text of a String or Symbol; `None` for any other object.
pub(crate) fn named(ruby: &Ruby, name: Value) -> Option<String> {
    let of_symbol = |symbol: Symbol| {
        // SAFETY: a Value proves that the GVL is held; a Symbol's String is live while the Symbol is.
        RString::from_value(unsafe { Value::from_raw(rb_sys::rb_sym2str(symbol.as_raw())) })
    };
    let text = RString::from_value(name).or_else(|| Symbol::from_value(name).and_then(of_symbol))?;
    Some(lossy(ruby, text))
}

/// Returns the text of an object: its own `to_s`, or `None` if that raises or is missing.
///
/// # Errors
/// Exceptions that were delivered during the call.
pub(crate) fn own_text(ruby: &Ruby, object: Value) -> Result<Option<String>, Error> {
    static OWN_TEXT: Name = Name::new(c"own_text");
    if let Some(text) = named(ruby, object) {
        return Ok(Some(text));
    }
    if Integer::from_value(object).is_some() || Float::from_value(object).is_some() {
        return Ok(Some(lossy(ruby, object.to_r_string()?)));
    }
    let profiler: RModule = ruby.class_object().const_get("Profiler")?;
    let text = call(profiler.const_get("AnyObject")?, &OWN_TEXT, [object])?;
    Ok(named(ruby, text))
}

/// A path as its bytes: for the system a path has no encoding.
pub(crate) struct FilePath(pub(crate) PathBuf);

impl TryConvert for FilePath {
    fn try_convert(value: Value) -> Result<Self, Error> {
        let path = RString::try_convert(value)?;
        // SAFETY: no Ruby code runs while the slice is read.
        Ok(Self(PathBuf::from(OsStr::from_bytes(unsafe { path.as_slice() }))))
    }
}
