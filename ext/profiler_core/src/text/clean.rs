//! Text from programs, made harmless.

use std::borrow::Cow;

/// `text` on one line and harmless to terminals and pages: what is no visible character becomes a
/// blank, blanks at the ends go. Characters that turn the direction of writing count as invisible:
/// they make a name look like another.
#[must_use]
pub fn clean(text: &str) -> Cow<'_, str> {
    let harmful = |it: char| {
        it.is_control()
            || matches!(it, '\u{2028}' | '\u{2029}' | '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}')
            || matches!(it, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
    };
    if text.contains(harmful) {
        Cow::Owned(text.replace(harmful, " ").trim().to_owned())
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
        assert_eq!(clean("Größe#長さ"), "Größe#長さ");
    }
}
