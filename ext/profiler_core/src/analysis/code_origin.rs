//! The owner of a function's code: the app, a gem, Ruby itself, or none.

use super::trim_paths;
use crate::profile::{Function, Language};

/// The owner of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The app, and code with no other known owner.
    App,
    /// A gem that is a part of Rails.
    Rails,
    /// Another gem.
    Gem,
    /// Ruby's standard library, and the parts of its core that are written in Ruby.
    Ruby,
    /// C code behind a Ruby method.
    Cfunc,
    /// A synthetic function, such as `(garbage collection)`.
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
    /// Returns the word for the origin.
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

    /// Returns the origin of `function`, judging by its path, which may be a short one: see [`trim_paths`].
    #[must_use]
    pub fn of(function: &Function) -> Self {
        match function.kind() {
            Language::Cfunc => return Self::Cfunc,
            Language::Synthetic => return Self::Synthetic,
            Language::Ruby => {}
        }
        if is_profiler_code(function) {
            return Self::Gem;
        }
        let path = function.path.strip_prefix("(eval at ").unwrap_or(&function.path);
        let gem = trim_paths::in_gem(path);
        if let Some(inside) = gem.as_deref().unwrap_or(path).strip_prefix("gem:") {
            let gem = inside.split('/').next().unwrap_or(inside);
            return if RAILS.contains(&gem) { Self::Rails } else { Self::Gem };
        }
        if trim_paths::is_distribution_gem(path) {
            return Self::Gem;
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

/// The files of the profiler that redefine methods of Ruby and of libraries, so that its functions have their
/// names.
const REDEFINING: [&str; 2] = ["/lib/profiler/process/interop.rb", "/lib/profiler/in_libraries/wrapping.rb"];
/// Files of the profiler that are loaded while a session runs. Functions that load code have no name of their
/// own, and an app may have a directory `lib/profiler/`, too.
const LOADED: [&str; 46] = [
    "/lib/profiler/autoload/claim.rb",
    "/lib/profiler/autoload/recorded_memory.rb",
    "/lib/profiler/autoload/recording.rb",
    "/lib/profiler/autoload/settings.rb",
    "/lib/profiler/in_libraries/rails.rb",
    "/lib/profiler/in_libraries/rake.rb",
    "/lib/profiler/in_libraries/requests.rb",
    "/lib/profiler/in_libraries/sequel.rb",
    "/lib/profiler/in_libraries/sidekiq.rb",
    "/lib/profiler/in_libraries/sql.rb",
    "/lib/profiler/in_libraries/sql/names.rb",
    "/lib/profiler/in_libraries/sql/scanner.rb",
    "/lib/profiler/in_libraries/tests.rb",
    "/lib/profiler/in_libraries/wrapping.rb",
    "/lib/profiler/middleware/body.rb",
    "/lib/profiler/middleware/headers.rb",
    "/lib/profiler/middleware/hijack.rb",
    "/lib/profiler/middleware/index.rb",
    "/lib/profiler/middleware/index/page.rb",
    "/lib/profiler/middleware/notice.rb",
    "/lib/profiler/middleware/on_demand.rb",
    "/lib/profiler/middleware/request_parser.rb",
    "/lib/profiler/middleware/route.rb",
    "/lib/profiler/middleware/shown.rb",
    "/lib/profiler/process/callback.rb",
    "/lib/profiler/process/clock.rb",
    "/lib/profiler/process/eager.rb",
    "/lib/profiler/process/ends.rb",
    "/lib/profiler/process/interop.rb",
    "/lib/profiler/process/losses.rb",
    "/lib/profiler/process/own_socket.rb",
    "/lib/profiler/process/signal_name.rb",
    "/lib/profiler/process/unix_address.rb",
    "/lib/profiler/process/user.rb",
    "/lib/profiler/recording/deadlines.rb",
    "/lib/profiler/recording/examples.rb",
    "/lib/profiler/recording/limits.rb",
    "/lib/profiler/recording/policy.rb",
    "/lib/profiler/recording/rate_limit.rb",
    "/lib/profiler/recording/session_per_request.rb",
    "/lib/profiler/recording/slice_per_request.rb",
    "/lib/profiler/autoload.rb",
    "/lib/profiler/background_thread.rb",
    "/lib/profiler/in_libraries.rb",
    "/lib/profiler/middleware.rb",
    "/lib/profiler/recording.rb",
];

/// Returns whether the function belongs to the profiler, which can be in the load path without being
/// installed as a gem.
pub(super) fn is_profiler_code(function: &Function) -> bool {
    let path = &function.path;
    // A path may be relative to the directory of the app.
    let is_in = |it: &str| path.contains(it) || path.starts_with(it.trim_start_matches('/'));
    let is_file = |it: &str| path.ends_with(it) || path == it.trim_start_matches('/');
    if REDEFINING.into_iter().any(is_file) {
        return true;
    }
    let is_c = function.kind() == Language::Cfunc;
    let in_library =
        is_c || is_in("/lib/profiler/") || path == "lib/profiler.rb" || path.ends_with("/lib/profiler.rb");
    if !in_library && !path.starts_with("gem:profiler/") {
        return false;
    }
    let name = function.name.strip_prefix("block in ").unwrap_or(&function.name);
    let is_own = |rest: &str| rest.starts_with(['.', '#', ':', '>']);
    let of_module = name.strip_prefix("<module:Profiler").or_else(|| name.strip_prefix("Profiler"));
    of_module.is_some_and(is_own)
        || path.starts_with("gem:profiler/")
        || ((name.starts_with('<') || name == "singleton class") && LOADED.into_iter().any(is_file))
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
            ("/usr/lib/x86_64-linux-gnu/ruby/vendor_ruby/3.1.0/msgpack/msgpack.so", Origin::Gem),
            ("/usr/lib/ruby/vendor_ruby/puppet/util.rb", Origin::Gem),
            ("/usr/lib/ruby/vendor_ruby/rubygems/core_ext/kernel_require.rb", Origin::Ruby),
            ("<internal:/usr/lib/ruby/vendor_ruby/rubygems/core_ext/kernel_require.rb>", Origin::Ruby),
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

    #[test]
    fn code_of_the_profiler_is_not_the_apps() {
        let origin =
            |name: &str, path: &str| Origin::of(&Function { path: path.into(), ..Function::named(name) });
        for (name, path) in [
            ("Profiler::Middleware#call", "/src/profiler/lib/profiler/middleware.rb"),
            ("Profiler.run", "/src/profiler/lib/profiler.rb"),
            ("<module:Profiler>", "/src/profiler/lib/profiler/session.rb"),
            ("<top (required)>", "/src/profiler/lib/profiler/autoload.rb"),
            ("<top (required)>", "lib/profiler/process/ends.rb"),
            ("block in <class:Middleware>", "/src/profiler/lib/profiler/middleware/body.rb"),
            ("IO.popen", "/src/profiler/lib/profiler/process/interop.rb"),
            ("Profiler::Session#stop", "lib/profiler/session.rb"),
            ("IO.popen", "lib/profiler/process/interop.rb"),
            ("Sinatra::Base#call", "/src/profiler/lib/profiler/in_libraries/wrapping.rb"),
            ("block in ActionController::Base#process_action", "lib/profiler/in_libraries/wrapping.rb"),
            ("<class:Recording>", "/src/profiler/lib/profiler/recording/policy.rb"),
            ("<top (required)>", "/src/profiler/lib/profiler/middleware.rb"),
            ("Profiler::Session#stop", "gem:profiler/lib/profiler/session.rb"),
        ] {
            assert_eq!(origin(name, path), Origin::Gem, "{name} {path}");
        }
        for (name, path) in [
            ("Profiler::Score#add", "/srv/app/models/profiler/score.rb"),
            ("Risk#rate", "/srv/app/lib/profiler/risk.rb"),
            ("ProfilerReport#rows", "/srv/app/lib/profiler/report.rb"),
            ("Worker#run", "/srv/app/lib/profiler/process/worker.rb"),
            ("<top (required)>", "/srv/app/lib/profiler/process/worker.rb"),
            ("Risk::Clock#now", "/srv/app/lib/profiler/process/clock.rb"),
            ("Risk::Body#each", "lib/profiler/middleware/body.rb"),
        ] {
            assert_eq!(origin(name, path), Origin::App, "{name} {path}");
        }
    }

    #[test]
    fn all_files_that_load_late_are_known() {
        fn list(directory: &std::path::Path, found: &mut Vec<String>) {
            for entry in std::fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    list(&path, found);
                } else if let Some((_, inside)) = path.to_str().unwrap().rsplit_once("/lib/profiler/") {
                    found.push(format!("/lib/profiler/{inside}"));
                }
            }
        }
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lib/profiler");
        let mut found = Vec::new();
        for directory in ["autoload", "process", "middleware", "in_libraries", "recording"] {
            list(&root.join(directory), &mut found);
        }
        found.retain(|file| !LOADED.contains(&file.as_str()));
        assert_eq!(found, Vec::<String>::new());
    }
}
