//! Names as people read them.

use std::borrow::Cow;

use crate::analysis::trim_paths;
use crate::profile::{Function, Kind};
use crate::text::clean;

/// Extensions of templates, whose methods have made-up names.
const TEMPLATES: [&str; 9] =
    [".erb", ".haml", ".slim", ".builder", ".jbuilder", ".liquid", ".mustache", ".rabl", ".markerb"];

/// The function's name for people; never empty.
pub(crate) fn display_name(function: &Function) -> Cow<'_, str> {
    match clean(&function.name) {
        name if name.is_empty() => Cow::Borrowed("(no name)"),
        name => name,
    }
}

/// The name where no place stands beside it. What has no name of its own has its place: a block, the text of a file. A template is
/// its file.
pub(crate) fn name_with_place(function: &Function) -> Cow<'_, str> {
    let name = display_name(function);
    if function.kind() != Kind::Ruby || function.path.starts_with('<') {
        return name;
    }
    if TEMPLATES.iter().any(|it| function.path.ends_with(it)) {
        return Cow::Owned(clean(&template(&function.path)).into_owned());
    }
    let bare = name.strip_prefix("block in ").unwrap_or(&name);
    let is_block_or_text = function.method_name.is_empty() && bare.starts_with('<') && bare.ends_with('>');
    if !is_block_or_text || bare == "<main>" && bare == name {
        return name;
    }
    let file = function.path.rsplit('/').next().unwrap_or_default();
    let line = if name == bare { String::new() } else { format!(":{}", function.first_line) };
    Cow::Owned(format!("{name} {}{line}", clean(file)))
}

/// The path of a template from `app/` on, as Rails itself names it.
fn template(path: &str) -> String {
    let inside = path.find("/app/views/").map_or(path, |at| path.get(at + 1..).unwrap_or(path));
    trim_paths::path(inside, &[])
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_name_of_its_own_has_a_place() {
        let shown = |name: &str, path: &str| {
            let function = Function { path: path.into(), first_line: 17, ..Function::named(name) };
            name_with_place(&function).into_owned()
        };
        for (name, path, expected) in [
            ("block in <class:App>", "/srv/app.rb", "block in <class:App> app.rb:17"),
            ("block in <main>", "/srv/app.rb", "block in <main> app.rb:17"),
            ("<top (required)>", "/srv/lib/shop.rb", "<top (required)> shop.rb"),
            ("<class:Shop>", "/srv/lib/shop.rb", "<class:Shop> shop.rb"),
            ("<main>", "/srv/app.rb", "<main>"),
            ("Shop#save", "/srv/app.rb", "Shop#save"),
            ("(garbage collection)", "", "(garbage collection)"),
            (
                "#<anonymous subclass of ActionView::Base>#_app_views_orders_index",
                "/srv/app/views/orders/index.html.erb",
                "app/views/orders/index.html.erb",
            ),
            ("Tilt::Compiled#a", "views/index.haml", "views/index.haml"),
        ] {
            assert_eq!(shown(name, path), expected);
        }
        let method = Function { method_name: "<=>".into(), path: "/a.rb".into(), ..Function::named("<=>") };
        assert_eq!(name_with_place(&method), "<=>");
    }
}
