//! What a file would take in memory, before any of it is made: a message of two bytes is a hundred there.

use crate::error::Error;

/// The most that is made of a file.
const LIMIT_BYTES: u64 = 1 << 30;

/// What a field costs besides its content, and what a byte of that becomes at most: a number of one byte is eight.
const A_FIELD: u64 = 100;
const A_BYTE: u64 = 8;

/// Goes through the fields of the outermost message only.
///
/// # Errors
/// [`Error::TooLarge`]; [`Error::NotAProfile`] for what has no fields.
pub(super) fn check(mut bytes: &[u8]) -> Result<(), Error> {
    let mut cost: u64 = 0;
    while !bytes.is_empty() {
        let length = field(&mut bytes).ok_or(Error::NotAProfile)?;
        cost = cost.saturating_add(A_FIELD).saturating_add(length.saturating_mul(A_BYTE));
        if cost > LIMIT_BYTES {
            return Err(Error::TooLarge { limit: LIMIT_BYTES });
        }
    }
    Ok(())
}

/// Skips a field and gives the length of its content; numbers have none.
fn field(bytes: &mut &[u8]) -> Option<u64> {
    let skip = |bytes: &mut &[u8], length: u64| {
        *bytes = bytes.get(usize::try_from(length).ok()?..)?;
        Some(length)
    };
    match number(bytes)? & 7 {
        0 => number(bytes).map(|_| 0),
        1 => skip(bytes, 8),
        2 => number(bytes).and_then(|length| skip(bytes, length)),
        5 => skip(bytes, 4),
        _ => None,
    }
}

fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..70).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn many_small_messages_are_large() {
        assert!(check(&[0x12, 0].repeat(1_000)).is_ok());
        assert!(matches!(check(&[0x12, 0].repeat(11_000_000)), Err(Error::TooLarge { .. })));
    }
}
