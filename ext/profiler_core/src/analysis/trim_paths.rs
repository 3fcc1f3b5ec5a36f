//! Paths without the directory that an app happens to be deployed in, so that its profiles compare.

use super::sum::Sum;
use crate::profile::{Function, Profile};

/// `profile` with short paths. What has the same name, path and first line then, is one function.
///
/// Files of gems become `gem:rack/lib/rack.rb`, without the version; those of Ruby `ruby:set.rb`; those under
/// one of `roots` (absolute, the longest counts) relative. The rest stays as it is.
#[must_use]
pub fn trim_paths(profile: &Profile, roots: &[String]) -> Profile {
    let mut sum = Sum::default();
    sum.add(profile, |it| Function { path: path(&it.path, roots), ..it.clone() });
    sum.with_header_of(profile)
}

fn path(of: &str, roots: &[String]) -> String {
    // Ruby 3.3 says where code was evaluated: "(eval at /app/job.rb:12)".
    if let Some(site) = of.strip_prefix("(eval at ") {
        return format!("(eval at {}", path(site, roots));
    }
    let under = |root: &String| of.strip_prefix(root.trim_end_matches('/'))?.strip_prefix('/');
    let relative = || roots.iter().filter_map(under).min_by_key(|rest| rest.len());
    in_gem(of)
        .or_else(|| in_ruby(of).map(|rest| format!("ruby:{rest}")))
        .or_else(|| relative().map(str::to_owned))
        .unwrap_or_else(|| of.to_owned())
}

/// `.../gems/rack-2.2.4/lib/rack.rb`, also for a gem that Bundler has from git.
pub(super) fn in_gem(path: &str) -> Option<String> {
    let (_, inside) = path.rsplit_once("/gems/")?;
    let (directory, file) = inside.split_once('/')?;
    let version_at = directory.match_indices('-').map(|(at, _)| at).find(|at| {
        let version = directory.get(at + 1..).unwrap_or_default();
        let commit = (7..=40).contains(&version.len()) && version.chars().all(|it| it.is_ascii_hexdigit());
        commit || version.starts_with(|it: char| it.is_ascii_digit())
    })?;
    Some(format!("gem:{}/{file}", directory.get(..version_at)?))
}

/// `.../lib/ruby/3.1.0/set.rb`, and what a distribution or the administrator put beside it.
pub(super) fn in_ruby(path: &str) -> Option<&str> {
    let (_, inside) = path.split_once("/lib/ruby/")?;
    let is_version = |it: &str| it.starts_with(|digit: char| digit.is_ascii_digit());
    let (first, rest) = inside.split_once('/')?;
    match first {
        "vendor_ruby" | "site_ruby" => Some(
            rest.split_once('/').filter(|(version, _)| is_version(version)).map_or(rest, |(_, rest)| rest),
        ),
        _ => is_version(first).then_some(rest),
    }
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
            ("(eval at /srv/app/job.rb:12)", "(eval at job.rb:12)"),
            ("<cfunc>", "<cfunc>"),
            ("<internal:kernel>", "<internal:kernel>"),
            ("", ""),
        ] {
            assert_eq!(path(long, &roots), short);
        }
    }
}
