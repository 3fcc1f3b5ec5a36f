//! The parts that all writers of JSON share. A file can have millions of numbers, and the formatter of the
//! standard library would take as long as all the rest.

use std::io::Write;

use crate::error::Error;

/// Returns the separator before the item at `place` of a list.
pub(super) fn comma(place: usize) -> &'static str {
    if place == 0 {
        ""
    } else {
        ","
    }
}

/// Writes a string in quotes.
pub(super) fn json(out: &mut impl Write, text: &str) -> Result<(), Error> {
    Ok(serde_json::to_writer(out, text).map_err(std::io::Error::from)?)
}

/// Writes a number.
pub(super) fn number(out: &mut impl Write, number: u64) -> Result<(), Error> {
    Ok(out.write_all(itoa::Buffer::new().format(number).as_bytes())?)
}

/// Writes numbers separated by commas.
pub(super) fn numbers(out: &mut impl Write, numbers: impl IntoIterator<Item = u64>) -> Result<(), Error> {
    for (place, it) in numbers.into_iter().enumerate() {
        out.write_all(comma(place).as_bytes())?;
        number(out, it)?;
    }
    Ok(())
}
