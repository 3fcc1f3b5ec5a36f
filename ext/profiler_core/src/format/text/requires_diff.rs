//! The table of what two programs load: by package and by file, before and after.

use super::cells::Fit;
use super::table::push_line;
use crate::analysis::requires_diff::{requires_diff, Times};
use crate::profile::{Profile, SampleType};
use crate::text::clean;
use crate::text::units::counted;

/// Lines of each list, unless all are requested.
const MAX_ROWS: usize = 15;
/// Columns before a name.
const NUMBERS: usize = 35;

/// The changes of what was loaded, the greatest first. `all` lists also what is beyond the first few.
#[must_use]
pub fn required_changes(before: &Profile, after: &Profile, all: bool, fit: Fit) -> String {
    let found = requires_diff(before, after);
    let mut text = String::new();
    let [old, new] = [found.all.before, found.all.after].map(|it| found.of.amount(it));
    push_line(&mut text, &format!("loading code: {old} -> {new} ({})", change(found.of, found.all)));
    push_line(&mut text, &fit.paint().dim("With one run per side, small changes can be chance."));
    let packages = found.packages.iter().map(|(name, times)| {
        let name = name.as_deref().unwrap_or("(no package)");
        (name, *times)
    });
    push_list(&mut text, "PACKAGE", packages, found.of, all, fit);
    let files = found.files.iter().map(|(path, times)| (path.as_str(), *times));
    push_list(&mut text, "FILE", files, found.of, all, fit);
    text
}

fn push_list<'names>(
    text: &mut String,
    title: &str,
    rows: impl ExactSizeIterator<Item = (&'names str, Times)>,
    of: SampleType,
    all: bool,
    fit: Fit,
) {
    let shown = if all { rows.len() } else { rows.len().min(MAX_ROWS) };
    let left_out = rows.len() - shown;
    text.push('\n');
    push_line(
        text,
        &fit.paint().bold(&format!("{:>9}  {:>9}  {:>11}  {title}", "BEFORE", "AFTER", "CHANGE")),
    );
    for (name, times) in rows.take(shown) {
        let name = fit.cut(&clean(name), fit.columns.saturating_sub(NUMBERS)).into_owned();
        let [before, after] = [times.before, times.after].map(|it| of.amount(it));
        push_line(text, &format!("{before:>9}  {after:>9}  {:>11}  {name}", change(of, times)));
    }
    if left_out > 0 {
        let rest = counted(left_out as u64, "smaller change");
        push_line(text, &fit.paint().dim(&format!("{rest} left out")));
    }
}

fn change(of: SampleType, times: Times) -> String {
    let sign = match times.after.cmp(&times.before) {
        std::cmp::Ordering::Less => "-",
        std::cmp::Ordering::Equal => "",
        std::cmp::Ordering::Greater => "+",
    };
    format!("{sign}{}", of.amount(times.change()))
}
