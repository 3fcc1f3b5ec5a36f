//! Text for people.

mod block_label;
mod clean;
pub mod names;
pub mod units;

pub use block_label::block_depth;
pub use clean::{clean, is_harmful};

/// The number of bytes kept of a name set by an app: of a label, its value, a thread or a marker.
pub const MAX_NAME_BYTES: usize = 256;

/// Cuts a name set by an app to [`MAX_NAME_BYTES`], at a character boundary.
#[must_use]
pub fn cut(mut text: String) -> String {
    let mut end = text.len().min(MAX_NAME_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    text
}

/// Formats a name as Markdown code in a cell of a table, where a bar ends the cell even inside code.
#[must_use]
pub fn code(text: &str) -> String {
    let text = clean(text).replace('|', "\\|");
    // The delimiter has to be longer than any run of backticks inside.
    let longest = text.split(|it| it != '`').map(str::len).max().unwrap_or(0);
    let marks = "`".repeat(longest + 1);
    let blank = if longest > 0 { " " } else { "" };
    format!("{marks}{blank}{text}{blank}{marks}")
}

/// Shortens a text to at most `chars` characters, with dots in place of the middle.
#[must_use]
pub fn shorten(text: &str, chars: usize) -> String {
    let have = text.chars().count();
    if have <= chars {
        return text.to_owned();
    }
    let dots = "...".chars().take(chars);
    let keep = chars.saturating_sub(3);
    let head = text.chars().take(keep / 2);
    let tail = text.chars().skip(have - (keep - keep / 2));
    head.chain(dots).chain(tail).collect()
}

/// Formats bytes as two digits each, in lower case.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    let digit = |it: u8| char::from_digit(it.into(), 16).unwrap_or('0');
    bytes.iter().flat_map(|it| [digit(it >> 4), digit(it & 15)]).collect()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn shortens_names_in_the_middle() {
        assert_eq!(shorten("abcdefghij", 10), "abcdefghij");
        assert_eq!(shorten("abcdefghijk", 10), "abc...hijk");
        assert_eq!(shorten("äöüß", 2), "..");
    }

    #[test]
    fn names_are_escaped_in_table_cells() {
        assert_eq!(code("Array#each"), "`Array#each`");
        assert_eq!(code("a|b\nc"), "`a\\|b c`");
        assert_eq!(code("Kernel#`"), "`` Kernel#` ``");
    }

    #[test]
    fn each_byte_has_two_digits() {
        assert_eq!(hex(&[0, 10, 255]), "000aff");
    }

    #[test]
    fn names_are_cut_at_character_boundaries() {
        assert_eq!(cut("short".to_owned()), "short");
        assert_eq!(cut("é".repeat(MAX_NAME_BYTES)).len(), MAX_NAME_BYTES);
        assert_eq!(cut(format!("x{}", "é".repeat(MAX_NAME_BYTES))).len(), MAX_NAME_BYTES - 1);
    }
}
