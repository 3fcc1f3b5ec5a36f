//! Options that are a share of something.

use std::ops::RangeInclusive;

use magnus::{Error, Ruby, TryConvert, Value};

use crate::errors::wrong_value;

/// The value of the option `name`, if one was given.
///
/// # Errors
/// ArgumentError for one that is no number, or outside of what is allowed.
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
