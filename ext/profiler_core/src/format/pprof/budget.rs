//! The memory that a file would take, computed before any of it is decoded: a message of two bytes can take a
//! hundred.

use crate::error::Error;

/// The maximum memory for a file.
const LIMIT_BYTES: u64 = 1 << 30;

/// The memory of a field besides its content, and the maximum memory for a byte of its content: a number of
/// one byte takes eight.
const A_FIELD: u64 = 100;
const A_BYTE: u64 = 8;

/// The memory of a message of a few bytes inside a sample, location or timeline, of which there can be
/// millions. A longer message is paid for by its bytes.
const A_MESSAGE: u64 = 40;
const FEW_BYTES: usize = 4;

/// The field numbers of these messages.
const NESTED: [u64; 3] = [2, 4, 5209];

/// Walks the fields of the outermost message, and of those that have many messages inside.
///
/// # Errors
/// Returns [`Error::TooLarge`], or [`Error::NotAProfile`] if the bytes have no fields.
pub(super) fn check(mut bytes: &[u8]) -> Result<(), Error> {
    let mut cost: u64 = 0;
    while !bytes.is_empty() {
        let (number, mut content) = field(&mut bytes).ok_or(Error::NotAProfile)?;
        let length = content.len() as u64;
        cost = cost.saturating_add(A_FIELD).saturating_add(length.saturating_mul(A_BYTE));
        while NESTED.contains(&number) && !content.is_empty() && cost <= LIMIT_BYTES {
            // Damage inside the field is found when it is read.
            let Some((_, inner)) = field(&mut content) else { break };
            cost = cost.saturating_add(if inner.len() < FEW_BYTES { A_MESSAGE } else { 0 });
        }
        if cost > LIMIT_BYTES {
            return Err(Error::TooLarge { limit: LIMIT_BYTES });
        }
    }
    Ok(())
}

/// Splits off a field, and returns its number and content; numbers have no content.
fn field<'bytes>(bytes: &mut &'bytes [u8]) -> Option<(u64, &'bytes [u8])> {
    let take = |bytes: &mut &'bytes [u8], length: u64| {
        let (content, rest) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
        *bytes = rest;
        Some(content)
    };
    let key = number(bytes)?;
    let content = match key & 7 {
        0 => number(bytes).map(|_| &[][..]),
        1 => take(bytes, 8),
        2 => number(bytes).and_then(|length| take(bytes, length)),
        5 => take(bytes, 4),
        _ => None,
    };
    content.map(|it| (key >> 3, it))
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
    fn small_messages_count_against_the_budget() {
        assert!(check(&[0x12, 0].repeat(1_000)).is_ok());
        assert!(matches!(check(&[0x12, 0].repeat(11_000_000)), Err(Error::TooLarge { .. })));
        // A sample with this number of empty labels.
        let labels = |times| {
            [&[0x12, 0x80, 0x80, 0x80, times][..], &[0x1a, 0].repeat((times as usize) << 20)].concat()
        };
        assert!(check(&labels(8)).is_ok());
        assert!(matches!(check(&labels(20)), Err(Error::TooLarge { .. })));
    }
}
