//! The table of changes between two sides, showing which are significant, for a terminal or as Markdown.

use super::cells::Fit;
use super::table::{place_of, push_line};
use crate::analysis::diff::{Change, Diff, Verdict, ENOUGH_RUNS};
use crate::format::display::name_in_versions;
use crate::text::code;

/// The number of changes that are shown if none is significant.
const LARGEST: usize = 5;
/// The number of columns before a name.
const NUMBERS: usize = 45;
const MOVED: &str =
    "its share and its weight changed in opposite directions: the runs did different amounts of work";
const NONE: &str = "No function's share has changed significantly.";
const NONE_ABSOLUTE: &str = "No function has changed significantly.";
const NOT_SLOWER: &str = "Nothing is slower than in the baseline.";
const MORE_RUNS: &str = "To find out, record more runs of each side: profiler diff a1,a2,a3 b1,b2,b3";

/// The choice of the changes that are shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Selected {
    /// Significant changes, including those whose weights differ significantly as well.
    Significant,
    /// All changes.
    All,
    /// Changes that exceed chance and are slower by more than this share.
    Slower(f64),
}

/// The table of changes.
#[derive(Clone, Copy, Debug)]
pub struct Changes {
    /// The changes that are shown.
    pub selected: Selected,
    /// The maximum number of changes; 0 means all.
    pub limit: usize,
    /// Whether sentences are wrapped to fit a terminal.
    pub is_terminal: bool,
    /// The terminal's width and colours.
    pub fit: Fit,
}

impl Selected {
    fn has(self, change: &Change) -> bool {
        match self {
            Self::All => true,
            Self::Significant => change.verdict() != Verdict::Same,
            Self::Slower(tolerance) => change.is_slower(tolerance),
        }
    }
}

impl Changes {
    /// Returns the table for a terminal.
    #[must_use]
    pub fn text(self, diff: &Diff) -> String {
        let paint = self.fit.paint();
        let mut text = String::new();
        if let Some(headline) = diff.headline() {
            self.push_sentence(&mut text, &paint.bold(&headline));
        }
        self.push_sentence(&mut text, &summary(diff));
        let rows = self.rows(diff);
        if rows.is_empty() && matches!(self.selected, Selected::Slower(_)) {
            self.push_sentence(&mut text, &not_slower(diff));
            return text;
        }
        text.push('\n');
        let (shown, left_out) = self.limited(&rows);
        if rows.is_empty() {
            push_line(&mut text, &paint.bold(none(diff)));
            let largest = largest(diff);
            if !largest.is_empty() {
                let lead = format!("The largest ones, which can be chance (?). {MORE_RUNS}");
                self.push_sentence(&mut text, &lead);
                text.push('\n');
            }
            largest.into_iter().for_each(|it| push_line(&mut text, &self.line(diff, it)));
            return text;
        }
        let heading = format!("{:>10}  {:>10}  {:>18}   FUNCTION", "BEFORE", "AFTER", "CHANGE");
        push_line(&mut text, &paint.bold(&heading));
        shown.iter().for_each(|it| push_line(&mut text, &self.line(diff, it)));
        if shown.iter().any(|it| it.verdict() == Verdict::Moved) {
            self.push_sentence(&mut text, &paint.dim(&format!("~ {MOVED}")));
        }
        if left_out > 0 {
            let limit = self.limit;
            push_line(&mut text, &paint.dim(&format!("{left_out} more left out (limit {limit})")));
        }
        text
    }

    /// Returns the table in GitHub's Markdown.
    #[must_use]
    pub fn markdown(self, diff: &Diff) -> String {
        let mut rows = self.rows(diff);
        let headline = diff.headline().map(|it| format!("**{it}**\n\n")).unwrap_or_default();
        let mut text = format!("{headline}{}\n\n", summary(diff));
        if rows.is_empty() && matches!(self.selected, Selected::Slower(_)) {
            text.push_str(&format!("{}\n", not_slower(diff)));
            return text;
        }
        if rows.is_empty() {
            rows = largest(diff);
            if rows.is_empty() {
                text.push_str(&format!("{}\n", none(diff)));
                return text;
            }
            text.push_str(&format!("{} The largest ones can be chance. {MORE_RUNS}\n\n", none(diff)));
        }
        let (shown, left_out) = self.limited(&rows);
        text.push_str("| before | after | change | | function |\n|--:|--:|--:|--:|---|\n");
        for shown_change in shown {
            let name = code(&name_in_versions(&shown_change.function));
            let name = match shown_change.verdict() {
                Verdict::Slower | Verdict::Faster => format!("**{name}**"),
                Verdict::Moved => format!("{name} ({MOVED})"),
                Verdict::Same => format!("{name} (not significant)"),
            };
            let [before, after, change] = numbers(diff, shown_change);
            text.push_str(&format!("| {before} | {after} | {change} | {} | {name} |\n", ratio(shown_change)));
        }
        if left_out > 0 {
            text.push_str(&format!("\n{left_out} more left out.\n"));
        }
        text
    }

    fn rows(self, diff: &Diff) -> Vec<&Change> {
        diff.changes.iter().filter(|it| self.selected.has(it)).collect()
    }

    /// Returns as many rows as the limit allows, and the number of the others.
    fn limited<'a, 'b>(self, rows: &'a [&'b Change]) -> (&'a [&'b Change], usize) {
        let most = if self.limit == 0 { rows.len() } else { self.limit.min(rows.len()) };
        let (shown, others) = rows.split_at(most);
        (shown, others.len())
    }

    fn line(self, diff: &Diff, row: &Change) -> String {
        let [before, after, change] = numbers(diff, row);
        let numbers = format!("{before:>10}  {after:>10}  {change:>10} {:>7}", ratio(row));
        let (mark, numbers) = match row.verdict() {
            Verdict::Same => ("?", numbers),
            Verdict::Moved => ("~", numbers),
            Verdict::Slower => (" ", self.fit.paint().with("31", &numbers)),
            Verdict::Faster => (" ", self.fit.paint().with("32", &numbers)),
        };
        let columns = self.fit.columns.saturating_sub(NUMBERS);
        format!(
            "{numbers} {mark} {}",
            self.fit.placed(&name_in_versions(&row.function), &place_of(&row.function), columns, "")
        )
    }

    /// Adds a sentence, which is not wrapped for programs.
    fn push_sentence(self, text: &mut String, sentence: &str) {
        if !self.is_terminal {
            return push_line(text, sentence);
        }
        let mut line = String::new();
        for word in sentence.split(' ') {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > self.fit.columns {
                push_line(text, &line);
                line.clear();
            }
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
        push_line(text, &line);
    }
}

/// Returns the sentence for when no change is significant.
fn none(diff: &Diff) -> &'static str {
    if diff.compare.absolute {
        NONE_ABSOLUTE
    } else {
        NONE
    }
}

/// Returns the sentence on a baseline that no function exceeds.
fn not_slower(diff: &Diff) -> String {
    // A function that grew within the tolerance did grow.
    let is_any_slower = diff.changes.iter().any(|it| it.verdict() == Verdict::Slower);
    if !diff.grew() || is_any_slower {
        return NOT_SLOWER.into();
    }
    let what = if diff.compare.absolute {
        "no single function became significantly slower"
    } else {
        "no function's share of it grew significantly"
    };
    let few = diff.runs.0.min(diff.runs.1) < ENOUGH_RUNS;
    let more = if few {
        format!(" {MORE_RUNS}")
    } else if diff.compare.absolute {
        String::new()
    } else {
        " Pass --absolute to compare the weights themselves.".into()
    };
    format!("The whole is slower, but {what}.{more}")
}

/// Returns the largest changes, for when none is significant.
fn largest(diff: &Diff) -> Vec<&Change> {
    diff.changes.iter().filter(|it| it.before != it.after).take(LARGEST).collect()
}

/// Returns the sentence above the table.
pub(in crate::format) fn summary(diff: &Diff) -> String {
    let of = diff.compare.of;
    let [before, after] = [diff.before, diff.after].map(|it| of.amount(it.round() as u64));
    let spread = match diff.spread {
        it if it > 1.05 => format!(", runs differ {it:.1} times as much as samples explain"),
        _ => String::new(),
    };
    format!(
        "{}: {before} before, {after} after (per run); {} and {} samples; {} functions had enough of them to be compared{spread}",
        of.name_and_unit().0,
        diff.samples.0,
        diff.samples.1,
        diff.compared
    )
}

/// Formats the number before, the number after, and the change.
fn numbers(diff: &Diff, change: &Change) -> [String; 3] {
    let value = |number: f64| {
        if diff.compare.absolute {
            diff.compare.of.amount(number.round() as u64)
        } else {
            format!("{:.2}%", number * 100.0)
        }
    };
    let sign = if change.delta() < 0.0 { "-" } else { "+" };
    [value(change.before), value(change.after), format!("{sign}{}", value(change.delta().abs()))]
}

fn ratio(change: &Change) -> String {
    if change.before == 0.0 {
        return "new".into();
    }
    if change.after == 0.0 {
        return "gone".into();
    }
    format!("{:+.0}%", (change.after / change.before - 1.0) * 100.0)
}
