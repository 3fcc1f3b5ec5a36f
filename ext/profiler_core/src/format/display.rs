//! Names as people read them.

use std::borrow::Cow;

use crate::profile::Function;
use crate::text::clean;

/// The function's name for people; never empty.
pub(crate) fn display_name(function: &Function) -> Cow<'_, str> {
    match clean(&function.name) {
        name if name.is_empty() => Cow::Borrowed("(no name)"),
        name => name,
    }
}
