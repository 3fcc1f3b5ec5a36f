//! Templates: their methods have made-up names, so people know them by their files.

use std::borrow::Cow;

use super::trim_paths;
use crate::profile::{Function, Language};
use crate::text::{clean, shorten};

/// Extensions of templates.
const EXTENSIONS: [&str; 9] =
    [".erb", ".haml", ".slim", ".builder", ".jbuilder", ".liquid", ".mustache", ".rabl", ".markerb"];

/// The longest place in a name, in characters.
pub(crate) const LONGEST_PLACE: usize = 120;

/// Returns the path of the template that a function is compiled from, beginning with `app/` as Rails itself
/// writes it. `None` for other functions.
pub(crate) fn template_file(function: &Function) -> Option<String> {
    let path = &function.path;
    let is_template = function.kind() == Language::Ruby && EXTENSIONS.iter().any(|it| path.ends_with(it));
    is_template.then(|| {
        let inside = path.find("/app/views/").map_or(path.as_str(), |at| path.get(at + 1..).unwrap_or(path));
        shorten(&clean(&trim_paths::path(inside, &[])), LONGEST_PLACE)
    })
}

/// Returns the function's own name, or the file of a template.
pub(super) fn name_or_template(function: &Function) -> Cow<'_, str> {
    template_file(function).map_or(Cow::Borrowed(function.name.as_str()), Cow::Owned)
}
