//! The package of a function: its gem, or the library of Ruby that it belongs to.

use super::trim_paths::{in_gem, in_ruby};

/// Returns the name of the gem, or of the library in Ruby's own directories, such as `rexml`. Returns `None`
/// for code of the app and for C. Evaluated code belongs to the package whose file evaluates it.
pub(crate) fn package(path: &str) -> Option<String> {
    let path = path.strip_prefix("(eval at ").unwrap_or(path);
    if let Some(internal) = path.strip_prefix("<internal:") {
        // RubyGems defines methods of its own there; the rest is Ruby's core.
        return internal.contains("rubygems").then(|| "rubygems".into());
    }
    let in_gem = in_gem(path);
    if let Some(inside) = in_gem.as_deref().unwrap_or(path).strip_prefix("gem:") {
        return first_of(inside);
    }
    first_of(path.strip_prefix("ruby:").or_else(|| in_ruby(path))?)
}

/// Returns the first part of a path: `net` of `net/http.rb`, `set` of `set.rb`.
fn first_of(inside: &str) -> Option<String> {
    let first = inside.split('/').next().filter(|it| !it.is_empty())?;
    let name = first.strip_suffix(".rb").or_else(|| first.strip_suffix(".so")).unwrap_or(first);
    Some(name.to_owned())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::package;

    #[test]
    fn a_package_is_a_gem_or_a_library_of_ruby() {
        for (path, name) in [
            ("/b/gems/rack-2.2.4/lib/rack.rb", Some("rack")),
            ("gem:rouge/lib/rouge/lexer.rb", Some("rouge")),
            ("(eval at /b/gems/activerecord-7.0.1/lib/a.rb:3)", Some("activerecord")),
            ("/usr/lib/ruby/3.1.0/rexml/document.rb", Some("rexml")),
            ("/usr/lib/ruby/vendor_ruby/asciidoctor/parser.rb", Some("asciidoctor")),
            ("ruby:set.rb", Some("set")),
            ("<internal:/usr/lib/ruby/vendor_ruby/rubygems/core_ext/kernel_require.rb>", Some("rubygems")),
            ("<internal:kernel>", None),
            ("/srv/app/models/user.rb", None),
            ("<cfunc>", None),
            ("", None),
        ] {
            assert_eq!(package(path).as_deref(), name, "{path}");
        }
    }
}
