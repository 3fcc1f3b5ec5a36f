//! Options that are a share.

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
    match number.filter(|number| allowed.contains(number)) {
        Some(number) => Ok(Some(number)),
        None => {
            let wrong = format!(" is not a share from {} to {}", allowed.start(), allowed.end());
            Err(Fault { option, value: Some(value), pieces: &[Piece::text(wrong)] }.argument_error(ruby))
        }
    }
}
