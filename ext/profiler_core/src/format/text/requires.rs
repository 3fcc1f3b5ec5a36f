//! The tree of loaded files, and the sums by package.

use super::cells::{Fit, WEIGHT_COLUMNS};
use super::table::push_line;
use crate::analysis::requires::{requires, LoadTime, Required, Requires};
use crate::analysis::trim_paths;
use crate::profile::{Frame, Profile};
use crate::text::clean;
use crate::text::units::percent;

/// The part of the loading time below which files are counted but not listed, unless all are requested.
const MIN_LISTED_SHARE: f64 = 0.01;
/// The number of packages that are listed.
const PACKAGES: usize = 15;
/// The number of columns before a name.
const NUMBERS: usize = 2 * WEIGHT_COLUMNS + 2 + 2 + 9 + 2;

/// Returns the files that `profile` loaded, under those that required them. `all` also lists those that took
/// almost no time.
#[must_use]
pub fn required(profile: &Profile, all: bool, fit: Fit) -> String {
    let found = requires(profile);
    let of = found.of;
    let mut text = String::new();
    let share = percent(found.taken.total, found.all);
    let waited = match found.taken.waited {
        0 => String::new(),
        waited => format!(", {} of it waiting", of.amount(waited)),
    };
    let (loading, whole) = (of.amount(found.taken.total), of.amount(found.all));
    push_line(&mut text, &format!("loading code: {loading} of {whole} ({share}){waited}"));
    if found.taken.total == 0 {
        return text;
    }
    let heading = |name: &str| {
        format!("{:>WEIGHT_COLUMNS$}  {:>WEIGHT_COLUMNS$}  {:>9}  {name}", "TOTAL", "SELF", "WAITED")
    };
    text.push('\n');
    push_line(&mut text, &fit.paint().bold(&heading("FILE")));
    let mut table = Table { profile, found: &found, all, fit, text };
    found.files.iter().for_each(|it| table.push(it, 0));
    let mut text = table.text;
    text.push('\n');
    push_line(&mut text, &fit.paint().bold(&heading("PACKAGE")));
    let most = if all { usize::MAX } else { PACKAGES };
    for (package, taken) in found.packages.iter().take(most) {
        let name = package.as_deref().unwrap_or("(no package)");
        push_line(&mut text, &format!("{}  {}", numbers(&found, *taken, fit), fit.cut(name, fit.columns)));
    }
    text
}

fn numbers(found: &Requires, taken: LoadTime, fit: Fit) -> String {
    let weight = |weight| fit.weight(found.of, weight, found.all);
    let waited = if taken.waited == 0 { String::new() } else { found.of.amount(taken.waited) };
    format!("{}  {}  {waited:>9}", weight(taken.total), weight(taken.own))
}

/// The growing table of files.
struct Table<'profile> {
    profile: &'profile Profile,
    found: &'profile Requires,
    all: bool,
    fit: Fit,
    text: String,
}

impl Table<'_> {
    fn push(&mut self, file: &Required, depth: usize) {
        let indent = " ".repeat(depth.min(20));
        let path = trim_paths::path(&file.path, &[]);
        let by = file.by.map(|it| format!("  {}", self.place(it))).unwrap_or_default();
        let columns = self.fit.columns.saturating_sub(NUMBERS + indent.len());
        let name = self.fit.cut(&clean(&path), columns).into_owned();
        let rest = columns.saturating_sub(name.chars().count());
        let by = if self.fit.full_paths || by.chars().count() <= rest { by } else { String::new() };
        let line = format!(
            "{}  {indent}{name}{}",
            numbers(self.found, file.taken, self.fit),
            self.fit.paint().dim(&by)
        );
        push_line(&mut self.text, &line);
        let least = if self.all { 0 } else { (self.found.taken.total as f64 * MIN_LISTED_SHARE) as u64 };
        let (shown, small): (Vec<_>, Vec<_>) = file.files.iter().partition(|it| it.taken.total >= least);
        shown.into_iter().for_each(|it| self.push(it, depth + 1));
        if !small.is_empty() {
            let sum = small.iter().fold(0_u64, |sum, it| sum.saturating_add(it.taken.total));
            let taken = LoadTime { total: sum, own: 0, waited: 0 };
            let weight = self.fit.weight(self.found.of, taken.total, self.found.all);
            let line =
                format!("{weight}{:WEIGHT_COLUMNS$}{:15}{indent} ({} smaller ones)", "", "", small.len());
            push_line(&mut self.text, &self.fit.paint().dim(&line));
        }
    }

    /// Formats the file's name and the line.
    fn place(&self, frame: Frame) -> String {
        let path = self.profile.function(frame.function).map_or("", |it| it.path.as_str());
        format!("{}:{}", clean(path.rsplit('/').next().unwrap_or(path)), frame.line)
    }
}
