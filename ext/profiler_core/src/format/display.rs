//! Names for people.

use std::borrow::Cow;

use crate::profile::Function;
use crate::text::clean;

/// Returns the name of a function for people, which is never empty.
pub(crate) fn display_name(function: &Function) -> Cow<'_, str> {
    match clean(&function.name) {
        name if name.is_empty() => Cow::Borrowed("(no name)"),
        name => name,
    }
}
