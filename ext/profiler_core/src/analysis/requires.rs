//! The loaded files: which file required which, what each took, and the sums by package.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::idle::idle_at;
use super::loading::{is_text, Loads};
use super::package::package;
use super::sites::{is_executable, Sites};
use crate::ids::StackId;
use crate::profile::{Frame, Profile, SampleType};
use crate::record::State;

/// The time of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadTime {
    /// The time including the files required from there.
    pub total: u64,
    /// The time of the load by itself.
    pub own: u64,
    /// The part of the total in which the thread waited, for example for a disk.
    pub waited: u64,
}

/// A loaded file, under the file that required it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Required {
    /// The path of the file.
    pub path: String,
    /// The line that required the file; the line with the most weight if there are several.
    pub by: Option<Frame>,
    /// The time of the load.
    pub taken: LoadTime,
    /// The files that this file required, the longest first.
    pub files: Vec<Required>,
}

/// All loads of a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requires {
    /// The sample type of the weights.
    pub of: SampleType,
    /// The weight of everything that was measured and not idle.
    pub all: u64,
    /// The time of all loads.
    pub taken: LoadTime,
    /// The files that the program itself required, the longest first.
    pub files: Vec<Required>,
    /// The times by package, the longest first. `None` is the app's own files, and files that were not found
    /// yet. The total excludes the time that other packages took.
    pub packages: Vec<(Option<String>, LoadTime)>,
}

/// The path for time in which no file is being loaded yet, because it is still being looked for.
const NOT_FOUND_YET: &str = "(finding files)";

/// Returns the files that `profile` loaded.
#[must_use]
pub fn requires(profile: &Profile) -> Requires {
    let sites = Sites::of(profile);
    let loads = Loads::of(profile, &sites);
    let idle = idle_at(profile, &sites);
    let of = profile.default_sample_type();
    let mut tree = Tree::default();
    let mut packages: BTreeMap<Option<String>, LoadTime> = BTreeMap::new();
    let mut all: u64 = 0;
    for (_, sample) in profile.samples.iter().enumerate().filter(|(row, _)| !idle.has(*row)) {
        let weight = sample.weights.get(of);
        all = all.saturating_add(weight);
        if weight == 0 || loads.at(sample.stack).is_none() {
            continue;
        }
        let waited = if sample.state == State::Waiting { weight } else { 0 };
        let chain = chain(profile, &loads, sample.stack);
        let owner = chain.last().and_then(|(path, _)| package(path));
        let sum = packages.entry(owner).or_default();
        sum.total = sum.total.saturating_add(weight);
        sum.own = sum.total;
        sum.waited = sum.waited.saturating_add(waited);
        tree.add(&chain, weight, waited);
    }
    let mut packages: Vec<_> = packages.into_iter().collect();
    packages.sort_by_key(|(name, taken)| (Reverse(taken.total), name.clone()));
    let taken = tree.taken;
    Requires { of, all, taken, files: tree.files(), packages }
}

/// Returns the files whose text runs in a stack, the outermost first, with the frames that required them.
fn chain<'profile>(
    profile: &'profile Profile,
    loads: &Loads<'_>,
    stack: StackId,
) -> Vec<(&'profile str, Option<Frame>)> {
    let mut frames: Vec<Frame> = profile.frames_of(stack).collect();
    frames.reverse();
    let mut chain: Vec<(&str, Option<Frame>)> = Vec::new();
    let (mut by, mut is_loading) = (None, false);
    for frame in &frames {
        let Some(function) = profile.function(frame.function) else { continue };
        if loads.is_loader(*frame) {
            is_loading = true;
        } else if is_loading && is_text(function) && !is_executable(function) {
            chain.push((&function.path, by));
            (by, is_loading) = (Some(*frame), false);
        } else if !is_loading || is_executable(function) {
            (by, is_loading) = (Some(*frame), false);
        }
    }
    if chain.is_empty() {
        chain.push((NOT_FOUND_YET, by));
    }
    chain
}

/// The files under the file that required them.
#[derive(Default)]
struct Tree<'profile> {
    taken: LoadTime,
    by: BTreeMap<Frame, u64>,
    files: BTreeMap<&'profile str, Tree<'profile>>,
}

impl<'profile> Tree<'profile> {
    fn add(&mut self, chain: &[(&'profile str, Option<Frame>)], weight: u64, waited: u64) {
        self.taken.total = self.taken.total.saturating_add(weight);
        self.taken.waited = self.taken.waited.saturating_add(waited);
        let Some(((path, by), inner)) = chain.split_first() else {
            self.taken.own = self.taken.own.saturating_add(weight);
            return;
        };
        let file = self.files.entry(path).or_default();
        if let Some(by) = by {
            let sum = file.by.entry(*by).or_default();
            *sum = sum.saturating_add(weight);
        }
        file.add(inner, weight, waited);
    }

    fn files(self) -> Vec<Required> {
        let required = |(path, tree): (&str, Tree<'_>)| Required {
            path: path.to_owned(),
            by: tree.by.iter().max_by_key(|it| *it.1).map(|it| *it.0),
            taken: tree.taken,
            files: tree.files(),
        };
        let mut files: Vec<Required> = self.files.into_iter().map(required).collect();
        files.sort_by(|one, other| {
            other.taken.total.cmp(&one.taken.total).then_with(|| one.path.cmp(&other.path))
        });
        files
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::analysis::example::{Example, MAIN};

    #[test]
    fn files_stand_under_the_one_that_required_them() {
        let mut example = Example::lasting_ms(1_000);
        let rouge = "<main> /k.rb:1; Kernel#require; <top (required)> /g/gems/rouge-3.3/rouge.rb:7";
        example.wall(MAIN, State::Running, 300, rouge);
        let set = "Kernel#require; <top (required)> /usr/lib/ruby/3.1.0/set.rb:5; <class:Set> /usr/lib/ruby/3.1.0/set.rb:9";
        example.wall(MAIN, State::Running, 60, &format!("{rouge}; {set}"));
        example.wall(MAIN, State::Waiting, 40, &format!("{rouge}; {set}; IO#read"));
        example.wall(MAIN, State::Running, 20, "<main> /k.rb:2; Kernel#require");
        example.wall(MAIN, State::Running, 500, "<main> /k.rb:5; Page#render /k.rb:9");
        let profile = example.profile();
        let found = requires(&profile);
        let ms = |it: LoadTime| [it.total, it.own, it.waited].map(|ns| ns / 1_000_000);
        assert_eq!((found.all / 1_000_000, ms(found.taken)), (920, [420, 0, 40]));
        let [rouge, finding] = found.files.as_slice() else { panic!("{found:?}") };
        assert_eq!((rouge.path.as_str(), ms(rouge.taken)), ("/g/gems/rouge-3.3/rouge.rb", [400, 300, 40]));
        assert_eq!(rouge.by.map(|it| it.line), Some(1));
        assert_eq!(
            (rouge.files[0].path.as_str(), ms(rouge.files[0].taken)),
            ("/usr/lib/ruby/3.1.0/set.rb", [100, 100, 40])
        );
        assert_eq!(rouge.files[0].by.map(|it| it.line), Some(7));
        assert_eq!((finding.path.as_str(), ms(finding.taken)), (NOT_FOUND_YET, [20, 20, 0]));
        let packages: Vec<_> =
            found.packages.iter().map(|(name, it)| (name.as_deref(), ms(*it)[0])).collect();
        assert_eq!(packages, [(Some("rouge"), 300), (Some("set"), 100), (None, 20)]);
    }
}
