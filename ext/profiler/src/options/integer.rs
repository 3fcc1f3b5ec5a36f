//! Options that are an Integer within a range.

use std::ops::RangeInclusive;

use magnus::{Error, Ruby, Value};

use crate::errors::{Fault, Piece};

/// Returns the value of the option, or `None` if it is absent.
///
/// # Errors
/// ArgumentError for a value that is not an Integer, or outside of the allowed range.
pub(super) fn integer(
    ruby: &Ruby,
    option: &'static str,
    value: Option<Value>,
    allowed: &RangeInclusive<i64>,
) -> Result<Option<i64>, Error> {
    let unit = match option {
        "interval" => " microseconds",
        "frequency" => " Hz",
        "every" => " objects",
        "every_bytes" => " bytes",
        _ => " frames",
    };
    let Some(value) = value else { return Ok(None) };
    let number = magnus::Integer::from_value(value).and_then(|number| number.to_i64().ok());
    match number.filter(|number| allowed.contains(number)) {
        Some(number) => Ok(Some(number)),
        None => {
            let wrong = format!(" is not an Integer from {} to {}{unit}", allowed.start(), allowed.end());
            Err(Fault { option, value: Some(value), pieces: &[Piece::text(wrong)] }.argument_error(ruby))
        }
    }
}
