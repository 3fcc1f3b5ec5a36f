//! Text from programs, made harmless.

use std::borrow::Cow;

/// Returns whether a character is invisible and therefore harmful to terminals and pages. This includes
/// characters that change the writing direction, which can make one name look like another.
#[must_use]
pub fn is_harmful(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{2028}' | '\u{2029}' | '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}')
        || matches!(letter, '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Returns `text` on one line and harmless: each harmful character becomes a space, and spaces at the ends
/// are removed.
#[must_use]
pub fn clean(text: &str) -> Cow<'_, str> {
    if text.contains(is_harmful) {
        Cow::Owned(text.replace(is_harmful, " ").trim().to_owned())
    } else {
        Cow::Borrowed(text.trim())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clean_text_is_one_harmless_line() {
        assert_eq!(clean(" Foo#b\nar\u{1b}[31m "), "Foo#b ar [31m");
        assert_eq!(clean("a\u{202e}b\u{ffff}"), "a b");
        assert_eq!(clean("a\u{61c}b"), "a b");
        assert_eq!(clean("Größe#長さ"), "Größe#長さ");
    }
}
