//! The spelling of names that come from the VM, from template engines, and from methods that share one body:
//! the same in every process.

/// Joins several names into one: `a`, `{a, b}`, `{a, b, c, 4 more}`.
#[must_use]
pub fn brace<'a>(all: impl IntoIterator<Item = &'a str>) -> String {
    let all: Vec<&str> = all.into_iter().collect();
    match all.as_slice() {
        [one] => (*one).to_owned(),
        [a, b, c, more @ ..] if !more.is_empty() => format!("{{{a}, {b}, {c}, {} more}}", more.len()),
        few => format!("{{{}}}", few.join(", ")),
    }
}

/// Removes the numbers that template engines append to the name of a method. These differ in each process:
/// `_app_views_posts_show_html_erb__1234567_890` of ActionView, `__tilt_1234` of Tilt.
#[must_use]
pub fn without_ids(method: &str) -> &str {
    let without_number = |name: &'_ str| {
        let rest = name.trim_end_matches(|it: char| it.is_ascii_digit());
        (rest.len() < name.len()).then_some(rest.len())
    };
    let cut = || -> Option<&str> {
        let before_id = method.get(..without_number(method)?)?.strip_suffix('_')?;
        if before_id == "__tilt" {
            return Some(before_id);
        }
        // The hash of the path can be negative; the sign then becomes one more underscore.
        let hash = before_id.get(..without_number(before_id)?)?;
        let template = hash.strip_suffix("__")?.trim_end_matches('_');
        (method.starts_with('_') && before_id.len() - hash.len() > 4 && !template.is_empty())
            .then_some(template)
    };
    cut().unwrap_or(method)
}

/// Removes the addresses that the VM puts into the names of anonymous objects, as a name must be the same in
/// every process. `#<Class:0x..>` becomes `#<anonymous class>` and `#<Foo:0x..>` becomes
/// `#<instance of Foo>`, with any nesting.
#[must_use]
pub fn without_addresses(text: &str) -> String {
    let mut rest = text;
    let mut clean = String::with_capacity(text.len());
    // The positions in `clean` of each `#<` that is still open.
    let mut open: Vec<usize> = Vec::new();
    while let Some(char) = rest.chars().next() {
        if rest.starts_with("#<") {
            open.push(clean.len());
        } else if let Some(after) = after_address(rest) {
            if let Some(start) = open.pop() {
                let inner = clean.split_off(start);
                let of = inner.strip_prefix("#<").unwrap_or(&inner);
                clean.push_str(&match of {
                    "Class" => "#<anonymous class>".to_owned(),
                    "Module" => "#<anonymous module>".to_owned(),
                    "Refinement" => "#<refinement>".to_owned(),
                    of => format!("#<instance of {of}>"),
                });
                rest = after;
                continue;
            }
        } else if char == '>' {
            open.pop();
        }
        clean.push(char);
        rest = rest.get(char.len_utf8()..).unwrap_or("");
    }
    clean
}

/// Returns the rest after an address such as `:0x000055d0c0ffee00>` at the beginning of `text`.
fn after_address(text: &str) -> Option<&str> {
    let digits = text.strip_prefix(":0x")?;
    let after = digits.trim_start_matches(|digit: char| digit.is_ascii_hexdigit());
    let is_address = digits.len() - after.len() >= 8;
    after.strip_prefix('>').filter(|_| is_address)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn removes_addresses_from_names() {
        for (text, clean) in [
            ("Foo::Bar", "Foo::Bar"),
            ("#<Class:0x00007f1e5c0d8a28>", "#<anonymous class>"),
            ("#<Module:0x00007f1e5c0d8a28>::Nested", "#<anonymous module>::Nested"),
            ("#<Foo:0x00007f1e5c0d8a28>", "#<instance of Foo>"),
            ("#<#<Class:0x00007f1e5c0d8a28>:0x00007f1e5c0d8a50>", "#<instance of #<anonymous class>>"),
            ("#<Class:#<Foo:0x00007f1e5c0d8a28>>", "#<Class:#<instance of Foo>>"),
            ("#<Refinement:0x00007f1e5c0d8a28>", "#<refinement>"),
            ("fake<1>", "fake<1>"),
            ("a:0x12345678> b", "a:0x12345678> b"),
            ("#<Foo:0x12>", "#<Foo:0x12>"),
            ("é#<é:0x0000000000000001>é", "é#<instance of é>é"),
        ] {
            assert_eq!(without_addresses(text), clean);
        }
    }

    #[test]
    fn removes_numbers_of_templates() {
        for (name, clean) in [
            ("_app_views_posts_show_html_erb__3094178233445674_23440", "_app_views_posts_show_html_erb"),
            ("_app_views_posts_show_html_erb___3094178233445674_23440", "_app_views_posts_show_html_erb"),
            ("__tilt_70123456", "__tilt"),
            ("__tilt_", "__tilt_"),
            ("render_2", "render_2"),
            ("step__20240101_2", "step__20240101_2"),
            ("_v1__2_3", "_v1__2_3"),
            ("__123456_7", "__123456_7"),
            ("_é__1234567_8", "_é"),
            ("", ""),
        ] {
            assert_eq!(without_ids(name), clean);
        }
    }

    #[test]
    fn combines_names_in_braces() {
        assert_eq!(brace(["a"]), "a");
        assert_eq!(brace(["a", "b", "c"]), "{a, b, c}");
        assert_eq!(brace(["a", "b", "c", "d", "e"]), "{a, b, c, 2 more}");
    }
}
