//! Options that are a share.

use std::ops::RangeInclusive;

use magnus::{Error, Ruby, TryConvert, Value};

use crate::errors::wrong_value;

/// Returns the value of the option `name`, or `None` if it is absent.
///
/// # Errors
/// ArgumentError for a value that is not a number, or outside of the allowed range.
pub(super) fn share(
    ruby: &Ruby,
    name: &str,
    value: Option<Value>,
    allowed: &RangeInclusive<f64>,
) -> Result<Option<f64>, Error> {
    let Some(value) = value else { return Ok(None) };
    let is_number =
        magnus::Integer::from_value(value).is_some() || magnus::Float::from_value(value).is_some();
    let number = is_number.then(|| f64::try_convert(value).ok()).flatten();
    match number.filter(|number| allowed.contains(number)) {
        Some(number) => Ok(Some(number)),
        None => Err(wrong_value(ruby, value, |it| {
            format!("{name}: {it} is not a share from {} to {}", allowed.start(), allowed.end())
        })),
    }
}
