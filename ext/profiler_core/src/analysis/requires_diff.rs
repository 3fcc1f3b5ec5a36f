//! The changes of what two programs load, by package and by file.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::requires::{requires, Required, Requires};
use super::trim_paths;
use crate::profile::{Profile, SampleType};

/// The time that something took before and after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// In the first profile.
    pub before: u64,
    /// In the second one.
    pub after: u64,
}

impl Times {
    /// The size of the change.
    #[must_use]
    pub fn change(self) -> u64 {
        self.before.abs_diff(self.after)
    }
}

/// The changes between two profiles of loads, the greatest first. What both lack is in neither list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiresDiff {
    /// The sample type that was weighed.
    pub of: SampleType,
    /// All loads.
    pub all: Times,
    /// By package, without what other packages took. `None` is the app's own files, and files that were not found yet.
    pub packages: Vec<(Option<String>, Times)>,
    /// By file, without what it required. Paths are short, as they differ from one deploy to the next.
    pub files: Vec<(String, Times)>,
}

/// Compares what two profiles loaded. Both must have the same default sample type, which the caller checks.
#[must_use]
pub fn requires_diff(before: &Profile, after: &Profile) -> RequiresDiff {
    let [before, after] = [before, after].map(requires);
    let packages = |of: &Requires| {
        let packages = of.packages.iter().map(|(name, taken)| (name.clone(), taken.total));
        packages.collect::<BTreeMap<_, _>>()
    };
    RequiresDiff {
        of: after.of,
        all: Times { before: before.taken.total, after: after.taken.total },
        packages: changes(packages(&before), packages(&after)),
        files: changes(own_times(&before), own_times(&after)),
    }
}

fn own_times(of: &Requires) -> BTreeMap<String, u64> {
    let mut times = BTreeMap::new();
    let mut rest: Vec<&Required> = of.files.iter().collect();
    while let Some(file) = rest.pop() {
        let sum: &mut u64 = times.entry(trim_paths::path(&file.path, &[])).or_default();
        *sum = sum.saturating_add(file.taken.own);
        rest.extend(&file.files);
    }
    times
}

fn changes<K: Ord + Clone>(before: BTreeMap<K, u64>, after: BTreeMap<K, u64>) -> Vec<(K, Times)> {
    let mut times: BTreeMap<K, Times> = BTreeMap::new();
    before.into_iter().for_each(|(name, time)| times.entry(name).or_default().before = time);
    after.into_iter().for_each(|(name, time)| times.entry(name).or_default().after = time);
    let mut changes: Vec<_> = times.into_iter().filter(|(_, it)| *it != Times::default()).collect();
    // The sort is stable, and the names are in order.
    changes.sort_by_key(|(_, times)| Reverse(times.change()));
    changes
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::analysis::example::{Example, MAIN};
    use crate::record::State;

    fn boot(home: &str, rouge_ms: u64, set_ms: u64) -> Profile {
        let mut example = Example::lasting_ms(1_000);
        let rouge =
            format!("<main> /k.rb:1; Kernel#require; <top (required)> {home}/gems/rouge-3.3/rouge.rb:7");
        example.wall(MAIN, State::Running, rouge_ms, &rouge);
        if set_ms > 0 {
            let set = "Kernel#require; <top (required)> /usr/lib/ruby/3.1.0/set.rb:5";
            example.wall(MAIN, State::Running, set_ms, &format!("{rouge}; {set}"));
        }
        example.profile()
    }

    #[test]
    fn the_greatest_change_comes_first_whatever_the_directories() {
        let found = requires_diff(&boot("/a", 300, 0), &boot("/b", 250, 100));
        let ms = |it: Times| (it.before / 1_000_000, it.after / 1_000_000);
        assert_eq!(ms(found.all), (300, 350));
        let packages: Vec<_> = found.packages.iter().map(|(name, it)| (name.as_deref(), ms(*it))).collect();
        assert_eq!(packages, [(Some("set"), (0, 100)), (Some("rouge"), (300, 250))]);
        let files: Vec<_> = found.files.iter().map(|(name, it)| (name.as_str(), ms(*it))).collect();
        assert_eq!(files, [("ruby:set.rb", (0, 100)), ("gem:rouge/rouge.rb", (300, 250))]);
    }
}
