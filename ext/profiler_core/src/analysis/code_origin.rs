//! The owner of a function's code: the app, a gem, Ruby itself, or nobody.

use super::trim_paths;
use crate::profile::{Function, Kind};

/// The owner of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The app, or what is not known to be anybody else's.
    App,
    /// A gem that is a part of Rails.
    Rails,
    /// Another gem.
    Gem,
    /// Ruby's standard library, and what of its core is written in Ruby.
    Ruby,
    /// C, with a Ruby method in front of it.
    Cfunc,
    /// The profiler made it up: `(garbage collection)`.
    Synthetic,
}

/// The gems that a Rails app does not choose one by one.
const RAILS: [&str; 12] = [
    "rails",
    "railties",
    "actioncable",
    "actionmailbox",
    "actionmailer",
    "actionpack",
    "actiontext",
    "actionview",
    "activejob",
    "activemodel",
    "activerecord",
    "activesupport",
];

impl Origin {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::App => "app",
            Self::Rails => "rails",
            Self::Gem => "gem",
            Self::Ruby => "ruby",
            Self::Cfunc => "cfunc",
            Self::Synthetic => "synthetic",
        }
    }

    /// The origin of `function`, from its path. That may be short, see [`trim_paths`].
    #[must_use]
    pub fn of(function: &Function) -> Self {
        match function.kind() {
            Kind::Cfunc => return Self::Cfunc,
            Kind::Synthetic => return Self::Synthetic,
            Kind::Ruby => {}
        }
        let path = function.path.strip_prefix("(eval at ").unwrap_or(&function.path);
        let gem = trim_paths::in_gem(path);
        if let Some(inside) = gem.as_deref().unwrap_or(path).strip_prefix("gem:") {
            let gem = inside.split('/').next().unwrap_or(inside);
            return if RAILS.contains(&gem) { Self::Rails } else { Self::Gem };
        }
        let ruby = path.starts_with("<internal:")
            || path.starts_with("ruby:")
            || trim_paths::in_ruby(path).is_some();
        if ruby {
            Self::Ruby
        } else {
            Self::App
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn classifies_paths_by_origin() {
        for (path, origin) in [
            ("/srv/app/models/user.rb", Origin::App),
            ("app/models/user.rb", Origin::App),
            ("-e", Origin::App),
            ("/b/gems/rack-2.2.4/lib/rack.rb", Origin::Gem),
            ("gem:rack/lib/rack.rb", Origin::Gem),
            ("(eval at /b/gems/activerecord-7.0.1/lib/a.rb:3)", Origin::Rails),
            ("gem:actionview/lib/a.rb", Origin::Rails),
            ("/usr/lib/ruby/3.1.0/set.rb", Origin::Ruby),
            ("/usr/lib/x86_64-linux-gnu/ruby/3.1.0/json/ext/parser.so", Origin::Ruby),
            ("/usr/lib/x86_64-linux-gnu/ruby/vendor_ruby/3.1.0/msgpack/msgpack.so", Origin::Ruby),
            (
                "/usr/lib/ruby/gems/3.1.0/extensions/x86_64-linux/3.1.0/debug-1.4.0/debug/debug.so",
                Origin::Gem,
            ),
            ("ruby:set.rb", Origin::Ruby),
            ("<internal:kernel>", Origin::Ruby),
            ("<cfunc>", Origin::Cfunc),
            ("", Origin::Synthetic),
        ] {
            let function = Function { path: path.into(), ..Function::named("x") };
            assert_eq!(Origin::of(&function), origin, "{path}");
        }
    }
}
