//! Options that are numbers within a range.

use std::ops::RangeInclusive;

use magnus::{Error, Ruby, TryConvert, Value};

use crate::errors::{Fault, Piece};

/// Returns the value of the option, or `None` if it is absent.
///
/// # Errors
/// ArgumentError for a value that is not a number, or outside of the allowed range.
pub(super) fn share(
    ruby: &Ruby,
    option: &'static str,
    value: Option<Value>,
    allowed: &RangeInclusive<f64>,
) -> Result<Option<f64>, Error> {
    let Some(value) = value else { return Ok(None) };
    let is_number =
        magnus::Integer::from_value(value).is_some() || magnus::Float::from_value(value).is_some();
    let number = is_number.then(|| f64::try_convert(value).ok()).flatten();
    within(ruby, option, value, number.filter(|number| allowed.contains(number)), || {
        format!(" is not a share from {} to {}", allowed.start(), allowed.end())
    })
}

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
    within(ruby, option, value, number.filter(|number| allowed.contains(number)), || {
        format!(" is not an Integer from {} to {}{unit}", allowed.start(), allowed.end())
    })
}

/// Returns the number, or an ArgumentError for `value` if there is none.
fn within<T>(
    ruby: &Ruby,
    option: &'static str,
    value: Value,
    number: Option<T>,
    wrong: impl FnOnce() -> String,
) -> Result<Option<T>, Error> {
    if number.is_some() {
        return Ok(number);
    }
    Err(Fault { option, value: Some(value), pieces: &[Piece::text(wrong())] }.argument_error(ruby))
}
