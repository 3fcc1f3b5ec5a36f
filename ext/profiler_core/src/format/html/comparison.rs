//! The page that compares two sides: the files of both, and the probability that chance made each change.
//!
//! The page computes the weights before and after by itself, for any selection. The probabilities are those
//! of [`diff`] for all of the files; a part of them has none.

use std::collections::BTreeMap;
use std::io::Write;

use serde::Serialize;

use super::{as_in_file, header, reported, shown_names, write_filled, Packages, PageFacts, VERSION};
use crate::analysis::code_origin::Origin;
use crate::analysis::diff::{diff, key, Compare, FunctionIdentity};
use crate::analysis::sites::Sites;
use crate::analysis::trim_paths;
use crate::error::Error;
use crate::format::display::name_in_versions;
use crate::format::text::summary;
use crate::format::Options;
use crate::profile::{Function, Profile, SampleType};

/// A run of one side.
#[derive(Clone, Debug)]
pub struct PageRun<'profile> {
    /// The name by which people know the run, such as that of its file.
    pub name: String,
    /// The profile of the run.
    pub profile: &'profile Profile,
}

/// Writes the page that compares `after` with `before`, each of which needs at least one run. Commands that
/// read a page read the first run after.
///
/// # Errors
/// Returns [`Error::Io`] if `out` fails, and [`Error::NotMeasured`] if a profile lacks the sample type.
pub fn write_comparison(
    before: &[PageRun<'_>],
    after: &[PageRun<'_>],
    options: &Options,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let Some(first) = after.first() else { return Err(Error::NotAProfile) };
    let of = options.sample_type_of(first.profile)?;
    let runs: Vec<&PageRun<'_>> = after.iter().chain(before).collect();
    for run in &runs {
        Options { sample_type: Some(of), ..Options::default() }.sample_type_of(run.profile)?;
    }
    let title = options.name_of(first.profile, of);
    let files = runs.iter().map(|it| as_in_file(it.profile)).collect::<Result<Vec<_>, _>>()?;
    let (files, shown): (Vec<_>, Vec<_>) = files.into_iter().unzip();
    let united = United::of(&shown);
    let facts = united.facts(of, title, &runs, &shown, after.len());
    write_filled(&facts, &files, out)
}

/// The facts about a comparison, described in `viewer/src/model/facts.ts`.
#[derive(Serialize)]
pub(super) struct Comparison {
    runs: Vec<RunFacts>,
    changes: Vec<Changes>,
}

#[derive(Serialize)]
struct RunFacts {
    side: &'static str,
    name: String,
    header: Vec<String>,
    /// For each function of the file, its index among those of all files.
    functions: Vec<usize>,
}

#[derive(Serialize)]
struct Changes {
    #[serde(rename = "type")]
    of: &'static str,
    total: bool,
    absolute: bool,
    summary: String,
    /// The change of the whole in one sentence.
    headline: Option<String>,
    /// The probability by function, where it is below 1; the most important first.
    chances: Vec<(usize, f64)>,
}

/// The functions of all files, each once.
struct United<'profile> {
    places: BTreeMap<FunctionIdentity, usize>,
    /// The functions as in the newest file.
    functions: Vec<&'profile Function>,
}

impl<'profile> United<'profile> {
    fn of(profiles: &'profile [Profile]) -> Self {
        let mut united = Self { places: BTreeMap::new(), functions: Vec::new() };
        for function in profiles.iter().flat_map(|it| &it.functions) {
            let next = united.functions.len();
            if *united.places.entry(key(function)).or_insert(next) == next {
                united.functions.push(function);
            }
        }
        united
    }

    fn place(&self, function: &Function) -> usize {
        self.places.get(&key(function)).copied().unwrap_or(0)
    }

    fn facts(
        &self,
        of: SampleType,
        title: String,
        runs: &[&PageRun<'_>],
        shown: &'profile [Profile],
        after: usize,
    ) -> PageFacts<'profile> {
        let of_run = |(place, (run, profile)): (usize, (&&PageRun<'_>, &'profile Profile))| RunFacts {
            side: if place < after { "after" } else { "before" },
            name: run.name.clone(),
            header: header(&reported(profile, of)),
            functions: profile.functions.iter().map(|it| self.place(it)).collect(),
        };
        let comparison = Comparison {
            runs: runs.iter().zip(shown).enumerate().map(of_run).collect(),
            changes: self.changes(shown, after),
        };
        let short = |path: &'profile str| {
            Some((path, trim_paths::path(path, &[]))).filter(|(path, short)| path != short)
        };
        PageFacts {
            version: VERSION,
            title,
            of: of.name_and_unit().0,
            origins: self.functions.iter().map(|it| Origin::of(it).name()).collect(),
            classes: self.classes(shown),
            packages: Packages::of(self.functions.iter().copied()),
            shown: shown_names(self.functions.iter().copied(), name_in_versions),
            paths: self.functions.iter().filter_map(|it| short(&it.path)).collect(),
            comparison: Some(comparison),
            ..PageFacts::default()
        }
    }

    /// Returns the letter of each function's class in the first run that has it.
    fn classes(&self, shown: &[Profile]) -> String {
        let mut letters: Vec<Option<char>> = vec![None; self.functions.len()];
        for profile in shown {
            for (function, class) in profile.functions.iter().zip(Sites::of(profile).classes()) {
                if let Some(letter) = letters.get_mut(self.place(function)) {
                    letter.get_or_insert(class.letter());
                }
            }
        }
        letters.into_iter().map(|it| it.unwrap_or('i')).collect()
    }

    /// Returns the changes of each sample type that all runs have: of self and total weights, as shares and
    /// absolute.
    fn changes(&self, shown: &[Profile], after: usize) -> Vec<Changes> {
        let (after, before) = shown.split_at(after.min(shown.len()));
        let [after, before]: [Vec<&Profile>; 2] = [after, before].map(|it| it.iter().collect());
        let in_all = |of: &SampleType| shown.iter().all(|it| it.sample_types.contains(of));
        let types = SampleType::ALL.into_iter().filter(in_all);
        let kinds = [(false, false), (true, false), (false, true), (true, true)];
        let compares = types.flat_map(|of| kinds.map(|(total, absolute)| Compare { of, total, absolute }));
        compares
            .map(|compare| {
                let found = diff(&before, &after, compare);
                let uncertain = found.changes.iter().filter(|it| it.chance < 1.0);
                Changes {
                    of: compare.of.name_and_unit().0,
                    total: compare.total,
                    absolute: compare.absolute,
                    summary: summary(&found),
                    headline: found.headline(),
                    chances: uncertain.map(|it| (self.place(&it.function), it.chance)).collect(),
                }
            })
            .collect()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::format::html::tests::block;
    use crate::format::read;

    fn facts_of(before: &str, after: &str) -> serde_json::Value {
        let [before, after] = [before, after].map(|it| read(it.as_bytes()).unwrap());
        let run = |name: &str, profile| PageRun { name: name.into(), profile };
        let mut out = Vec::new();
        let sides = ([run("old", &before)], [run("</script>", &after)]);
        write_comparison(&sides.0, &sides.1, &Options::default(), &mut out).unwrap();
        let page = String::from_utf8(out).unwrap();
        assert_eq!(page.matches("<script type=\"text/plain\" id=\"profile").count(), 2);
        let again = read(page.as_bytes()).unwrap();
        assert_eq!(again.functions.len(), after.functions.len());
        serde_json::from_str(block(&page, "facts")).unwrap()
    }

    #[test]
    fn a_comparison_has_the_chances_of_the_diff() {
        let facts =
            facts_of("main;A#b 500000000\nmain;C#d 500000000", "main;A#b 900000000\nmain;E#f 100000000");
        let comparison = &facts["comparison"];
        assert_eq!(comparison["runs"][0]["side"], "after");
        assert_eq!(comparison["runs"][1]["name"], "old");
        let changes = comparison["changes"].as_array().unwrap();
        assert!(changes.iter().any(|it| it["total"] == true && it["absolute"] == false));
        assert_eq!(facts["origins"].as_array().unwrap().len(), 4);
        let places = comparison["runs"][1]["functions"].as_array().unwrap();
        assert_eq!(places.len(), 3);
        assert!(places.iter().all(|it| it.as_u64().unwrap() < 4));
    }

    #[test]
    fn no_name_ends_a_block() {
        let facts = facts_of("main;</script><script>alert(1)</script> 1000", "main;A#b 1000");
        assert_eq!(facts["origins"].as_array().map(Vec::len), Some(3));
    }
}
