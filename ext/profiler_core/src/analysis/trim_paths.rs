//! Paths without the directory in which an app happens to be deployed, so that its profiles can be compared.

use super::sum::ProfileSum;
use crate::profile::{Function, Profile};

/// Returns `profile` with short paths. Functions that then have the same name, path and first line become
/// one.
///
/// Files of gems become `gem:rack/lib/rack.rb`, without the version, and those of Ruby `ruby:set.rb`. Files
/// under one of `roots` (absolute paths, of which the longest match counts) become relative. All other paths
/// stay the same.
#[must_use]
pub fn trim_paths(profile: &Profile, roots: &[String]) -> Profile {
    let mut sum = ProfileSum::default();
    sum.add(profile, |it| Function { path: path(&it.path, roots), ..it.clone() });
    sum.with_header_of(profile)
}

/// Shortens the path of one file as [`trim_paths`] does.
pub(crate) fn path(of: &str, roots: &[String]) -> String {
    // Ruby 3.3 reports where code was evaluated: "(eval at /app/job.rb:12)".
    if let Some(site) = of.strip_prefix("(eval at ") {
        return format!("(eval at {}", path(site, roots));
    }
    // Code of Ruby's core has no file, or one of RubyGems: "<internal:/usr/lib/ruby/.../kernel_require.rb>".
    if let Some(file) = of.strip_prefix("<internal:") {
        return format!("<internal:{}", path(file, &[]));
    }
    let under = |root: &String| of.strip_prefix(root.trim_end_matches('/'))?.strip_prefix('/');
    let relative = || roots.iter().filter_map(under).min_by_key(|rest| rest.len());
    in_gem(of)
        .or_else(|| in_ruby(of).map(|rest| format!("ruby:{rest}")))
        .or_else(|| relative().map(str::to_owned))
        .unwrap_or_else(|| of.to_owned())
}

/// Shortens `.../gems/rack-2.2.4/lib/rack.rb`, even if Bundler has the gem from git, and if it is a gem's
/// compiled part only.
pub(super) fn in_gem(path: &str) -> Option<String> {
    let (name, file) = in_gem_directory(path).or_else(|| in_extensions(path))?;
    Some(format!("gem:{name}/{file}"))
}

/// Returns the gem and the file inside it. Fedora has compiled parts in `gems/ruby/json-2.7.2/json.so`.
fn in_gem_directory(path: &str) -> Option<(&str, &str)> {
    let (_, inside) = path.rsplit_once("/gems/")?;
    named_with_version(inside.strip_prefix("ruby/").unwrap_or(inside))
}

/// Returns the same for `.../extensions/x86_64-linux/3.1.0/rbs-2.1.0/rbs_extension.so`.
fn in_extensions(path: &str) -> Option<(&str, &str)> {
    let (_, inside) = path.rsplit_once("/extensions/")?;
    let (_platform, inside) = inside.split_once('/')?;
    let (version, inside) = inside.split_once('/')?;
    is_version(version).then(|| named_with_version(inside))?
}

/// Splits `rack-2.2.4/lib/rack.rb` into the name and the rest.
fn named_with_version(inside: &str) -> Option<(&str, &str)> {
    let (directory, file) = inside.split_once('/')?;
    let version_at = directory.match_indices('-').map(|(at, _)| at).find(|at| {
        let version = directory.get(at + 1..).unwrap_or_default();
        let commit = (7..=40).contains(&version.len()) && version.chars().all(|it| it.is_ascii_hexdigit());
        commit || is_version(version)
    })?;
    Some((directory.get(..version_at)?, file))
}

/// Shortens `.../lib/ruby/3.1.0/set.rb`, and files that a distribution or the administrator put beside it.
/// Compiled files may be in `/lib64/ruby`, or below a directory of the architecture:
/// `.../lib/x86_64-linux-gnu/ruby/3.1.0/date_core.so`.
pub(super) fn in_ruby(path: &str) -> Option<&str> {
    let under = |lib| {
        let (_, inside) = path.split_once(lib)?;
        [Some(inside), below_architecture(inside)]
            .into_iter()
            .flatten()
            .find_map(|it| it.strip_prefix("ruby/"))
    };
    let (first, rest) = ["/lib/", "/lib64/"].into_iter().find_map(under)?.split_once('/')?;
    match first {
        "vendor_ruby" | "site_ruby" => {
            Some(rest.split_once('/').filter(|it| is_version(it.0)).map_or(rest, |it| it.1))
        }
        _ => is_version(first).then_some(rest),
    }
}

/// Packages that a distribution has beside its gems, but that come with Ruby.
const OF_RUBY: [&str; 4] = ["rubygems", "rubygems.rb", "bundler", "bundler.rb"];

/// Returns whether the file belongs to a gem that a distribution installs into `vendor_ruby`.
pub(super) fn is_distribution_gem(path: &str) -> bool {
    let is_vendored = !path.starts_with("<internal:") && path.contains("/vendor_ruby/");
    is_vendored
        && in_ruby(path).is_some_and(|inside| !OF_RUBY.iter().any(|it| inside.split('/').next() == Some(it)))
}

fn below_architecture(inside: &str) -> Option<&str> {
    inside.split_once('/').filter(|(first, _)| first.contains("-linux-")).map(|(_, rest)| rest)
}

fn is_version(text: &str) -> bool {
    text.starts_with(|it: char| it.is_ascii_digit())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::path;

    #[test]
    fn trims_deployment_specific_prefixes() {
        let roots = ["/srv/app".to_owned(), "/srv/app/current/".to_owned()];
        for (long, short) in [
            ("/srv/app/current/app/models/user.rb", "app/models/user.rb"),
            ("/srv/app/releases/1/lib/x.rb", "releases/1/lib/x.rb"),
            ("/srv/application/x.rb", "/srv/application/x.rb"),
            ("/usr/lib/ruby/gems/3.1.0/gems/rbs-2.1.0/lib/rbs.rb", "gem:rbs/lib/rbs.rb"),
            ("/srv/app/vendor/bundle/ruby/3.3.0/gems/aws-sdk-s3-1.2.0/lib/s3.rb", "gem:aws-sdk-s3/lib/s3.rb"),
            ("/g/gems/nokogiri-1.16.0-x86_64-linux/lib/nokogiri.rb", "gem:nokogiri/lib/nokogiri.rb"),
            ("/b/bundler/gems/rails-0a1b2c3d4e5f/activerecord/lib/a.rb", "gem:rails/activerecord/lib/a.rb"),
            ("/home/me/gems/mine/lib/mine.rb", "/home/me/gems/mine/lib/mine.rb"),
            ("/usr/lib/ruby/3.1.0/set.rb", "ruby:set.rb"),
            ("/usr/lib/ruby/vendor_ruby/rake/task.rb", "ruby:rake/task.rb"),
            ("/opt/lib/ruby/site_ruby/3.4.0/rubygems.rb", "ruby:rubygems.rb"),
            ("/usr/lib/x86_64-linux-gnu/ruby/3.1.0/date_core.so", "ruby:date_core.so"),
            (
                "/usr/lib/aarch64-linux-gnu/ruby/vendor_ruby/3.1.0/puma/puma_http11.so",
                "ruby:puma/puma_http11.so",
            ),
            ("/usr/lib64/ruby/3.3.0/x86_64-linux/date_core.so", "ruby:x86_64-linux/date_core.so"),
            ("/usr/lib64/gems/ruby/json-2.7.2/json/ext/parser.so", "gem:json/json/ext/parser.so"),
            (
                "/var/lib/gems/3.1.0/extensions/x86_64-linux/3.1.0/rbs-2.1.0/rbs_extension.so",
                "gem:rbs/rbs_extension.so",
            ),
            ("/srv/app/lib/parsers/ruby/3.x/all.rb", "lib/parsers/ruby/3.x/all.rb"),
            ("/srv/app/extensions/a/b/c-1/x.rb", "extensions/a/b/c-1/x.rb"),
            ("(eval at /srv/app/job.rb:12)", "(eval at job.rb:12)"),
            ("<cfunc>", "<cfunc>"),
            ("<internal:kernel>", "<internal:kernel>"),
            (
                "<internal:/usr/lib/ruby/vendor_ruby/rubygems/core_ext/kernel_require.rb>",
                "<internal:ruby:rubygems/core_ext/kernel_require.rb>",
            ),
            ("", ""),
        ] {
            assert_eq!(path(long, &roots), short);
        }
    }
}
