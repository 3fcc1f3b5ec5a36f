//! The contents of Ruby's strings, whatever their encoding.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use magnus::rb_sys::{AsRawValue, FromRawValue};
use magnus::{Error, RString, Ruby, Symbol, TryConvert, Value};

/// The text in UTF-8. Bytes that stand for no character become U+FFFD.
pub(crate) fn lossy(ruby: &Ruby, text: RString) -> String {
    let read = |text: RString| {
        // SAFETY: nothing of Ruby runs while the slice is read.
        String::from_utf8_lossy(unsafe { text.as_slice() }).into_owned()
    };
    // SAFETY: as above.
    if std::str::from_utf8(unsafe { text.as_slice() }).is_ok() {
        return read(text);
    }
    // A text that cannot be converted comes back as it was.
    read(text.conv_enc(ruby.utf8_encoding()).unwrap_or(text))
}

/// The text of a String or Symbol; nothing for any other object.
pub(crate) fn named(ruby: &Ruby, name: Value) -> Option<String> {
    let of_symbol = |symbol: Symbol| {
        // SAFETY: a Value proves that the GVL is held; a Symbol's String is live while the Symbol is.
        RString::from_value(unsafe { Value::from_raw(rb_sys::rb_sym2str(symbol.as_raw())) })
    };
    let text = RString::from_value(name).or_else(|| Symbol::from_value(name).and_then(of_symbol))?;
    Some(lossy(ruby, text))
}

/// A path, which has no encoding for the system: its bytes.
pub(crate) struct FilePath(pub(crate) PathBuf);

impl TryConvert for FilePath {
    fn try_convert(value: Value) -> Result<Self, Error> {
        let path = RString::try_convert(value)?;
        // SAFETY: nothing of Ruby runs while the slice is read.
        Ok(Self(PathBuf::from(OsStr::from_bytes(unsafe { path.as_slice() }))))
    }
}
