//! Names for people.

use std::borrow::Cow;

use crate::analysis::template::{template_file, LONGEST_PLACE};
use crate::profile::{Function, Language};

use crate::text::{block_depth, clean, shorten};

/// A way to spell the name of a function: for a file, or for people.
pub(crate) type Spelling = fn(&Function) -> Cow<'_, str>;

/// Returns the function's own name, made harmless and never empty. Files have it, as it is the same in every process.
pub(crate) fn clean_name(function: &Function) -> Cow<'_, str> {
    match clean(&function.name) {
        name if name.is_empty() => Cow::Borrowed("(no name)"),
        name => name,
    }
}

/// Returns the name that people read. What has no name of its own has its place: a block, the text of a file. A template is its file.
pub fn display_name(function: &Function) -> Cow<'_, str> {
    with_place(function, function.first_line)
}

/// Returns that name without the line of a block, which moves from one version of a program to the next.
pub(crate) fn name_in_versions(function: &Function) -> Cow<'_, str> {
    with_place(function, 0)
}

fn with_place(function: &Function, line: u32) -> Cow<'_, str> {
    let name = clean_name(function);
    let has_file = !function.path.is_empty() && !function.path.starts_with(['<', '(']);
    if function.kind() != Language::Ruby || !has_file {
        return name;
    }
    if let Some(file) = template_file(function) {
        return Cow::Owned(file);
    }
    let bare = name.rsplit_once(" in ").map_or(&*name, |(_, bare)| bare);
    let is_block = block_depth(&name) != (0, 0);
    let is_bare = function.method_name.is_empty() && bare.starts_with('<') && bare.ends_with('>');
    if !is_bare || !is_block && (bare != name || bare == "<main>") {
        return name;
    }
    let file = function.path.rsplit('/').next().unwrap_or_default();
    let line = if is_block && line > 0 { format!(":{line}") } else { String::new() };
    Cow::Owned(format!("{name} {}{line}", shorten(&clean(file), LONGEST_PLACE)))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_name_of_its_own_has_a_place() {
        let shown = |name: &str, path: &str| {
            let function = Function { path: path.into(), first_line: 17, ..Function::named(name) };
            display_name(&function).into_owned()
        };
        for (name, path, expected) in [
            ("block in <class:App>", "/srv/app.rb", "block in <class:App> app.rb:17"),
            ("block in <main>", "/srv/app.rb", "block in <main> app.rb:17"),
            ("block (2 levels) in <main>", "/srv/app.rb", "block (2 levels) in <main> app.rb:17"),
            ("rescue in <main>", "/srv/app.rb", "rescue in <main> app.rb:17"),
            ("one in <two>", "/srv/app.rb", "one in <two>"),
            ("<img src=x>", "(unknown)", "<img src=x>"),
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
        let block = Function {
            path: "/srv/app.rb".into(),
            first_line: 17,
            ..Function::named("block in <class:App>")
        };
        assert_eq!(name_in_versions(&block), "block in <class:App> app.rb");
        let method = Function { method_name: "<=>".into(), path: "/a.rb".into(), ..Function::named("<=>") };
        assert_eq!(display_name(&method), "<=>");
    }
}
