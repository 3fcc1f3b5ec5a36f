//! The native file inside a page of ours.

use base64::engine::general_purpose::STANDARD;
use base64::Engine;

use crate::error::Error;

/// The texts before and after the bytes of the native file in a page.
pub(in crate::format) const FILE: [&str; 2] = [r#"<script type="text/plain" id="profile">"#, "</script>"];

const START: &str = "<!doctype";

/// Returns the bytes of the native file, or `None` if the text is not a page of profiler's.
///
/// # Errors
/// Returns [`Error::Truncated`] if the page ends within the bytes, and [`Error::Malformed`] if they are not
/// base64.
pub(in crate::format) fn file_in(page: &str) -> Result<Option<Vec<u8>>, Error> {
    let start = page.trim_start().get(..START.len()).unwrap_or("");
    if !start.eq_ignore_ascii_case(START) {
        return Ok(None);
    }
    let Some((_, rest)) = page.split_once(FILE[0]) else { return Ok(None) };
    let (file, _) = rest.split_once(FILE[1]).ok_or(Error::Truncated)?;
    let decoded = STANDARD.decode(file.trim());
    decoded.map(Some).map_err(|error| Error::malformed(format!("its bytes are not base64 ({error})")))
}
