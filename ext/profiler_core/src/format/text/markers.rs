//! The table of markers: a name, how many there were, how long they took, and below it where.

use super::cells::Fit;
use super::table::push_line;
use crate::analysis::markers::{marker_sums, MarkerSum};
use crate::format::display::display_name;
use crate::profile::{Function, Profile};
use crate::text::clean;
use crate::text::units::{count, counted, duration};

/// Columns before a name.
const NUMBERS: usize = 41;
/// The indent of a place below its marker.
const INDENT: usize = NUMBERS + 2;

/// The markers of `profile` by name, at most `limit` of them; 0 is all.
#[must_use]
pub fn markers(profile: &Profile, limit: usize, fit: Fit) -> String {
    let sums = marker_sums(profile);
    let mut text = String::new();
    if sums.is_empty() {
        push_line(&mut text, "markers: none (Profiler.marker and profiler/rails record them)");
        return text;
    }
    let all = counted(profile.markers.len() as u64, "marker");
    push_line(&mut text, &format!("{all} of {}", counted(sums.len() as u64, "name")));
    if profile.timeline.is_none() {
        let hint = "Without a timeline (record --timeline) it is not known where they were.";
        push_line(&mut text, &fit.paint().dim(hint));
    }
    text.push('\n');
    let heading = row(&["TOTAL", "COUNT", "MEAN", "LARGEST"].map(String::from), "MARKER");
    push_line(&mut text, &fit.paint().bold(&heading));
    let shown = if limit == 0 { sums.len() } else { limit.min(sums.len()) };
    for sum in sums.iter().take(shown) {
        push_line(&mut text, &row(&numbers(sum), &fit.cut(&clean(&sum.name), columns(fit, NUMBERS))));
        let Some((function, line)) = place(profile, sum) else { continue };
        // The line that it was at, not the one where it begins.
        let line = format!("{}:{line}", clean(&function.path));
        let place = fit.placed(&display_name(function), &line, columns(fit, INDENT + 3), "");
        push_line(&mut text, &format!("{:INDENT$}in {place}", ""));
    }
    if shown < sums.len() {
        let rest = counted((sums.len() - shown) as u64, "more name");
        push_line(&mut text, &fit.paint().dim(&format!("{rest} left out (limit {shown})")));
    }
    text
}

fn place<'profile>(profile: &'profile Profile, sum: &MarkerSum) -> Option<(&'profile Function, u32)> {
    let place = sum.place?;
    Some((profile.function(place.function)?, place.line))
}

fn columns(fit: Fit, taken: usize) -> usize {
    fit.columns.saturating_sub(taken)
}

/// An instant has no length.
fn numbers(sum: &MarkerSum) -> [String; 4] {
    let time = |ns| if sum.largest_ns == 0 { String::new() } else { duration(ns) };
    [time(sum.total_ns), count(sum.count), time(sum.mean_ns()), time(sum.largest_ns)]
}

fn row([total, count, mean, largest]: &[String; 4], name: &str) -> String {
    format!("{total:>9}  {count:>6}  {mean:>9}  {largest:>9}  {name}")
}
