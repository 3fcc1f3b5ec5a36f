//! A summary in GitHub's Markdown, for pull requests and for reading without a terminal.

use std::borrow::Cow;
use std::io::Write;

use super::display::display_name;
use super::text::{facts, place_of};
use super::{threads, Options};
use crate::analysis::findings::findings;
use crate::analysis::top::{top, Order, Top};
use crate::error::Error;
use crate::profile::{Function, Profile, SampleType, Weights};
use crate::text::units::percent;
use crate::text::{clean, code};

/// Writes the summary: the findings, the header, the heaviest functions by self weight and by total weight,
/// and the threads. The `limit` of [`Options::text`] is the number of functions in a table.
///
/// # Errors
/// Returns [`Error::Io`] if `out` fails, and [`Error::NotMeasured`] if the profile lacks the requested sample
/// type.
pub fn write(profile: &Profile, options: &Options, out: &mut dyn Write) -> Result<(), Error> {
    let of = options.sample_type_of(profile)?;
    let mut text = format!("# {}\n\n", plain(&options.title_or(profile, of)));
    text.push_str(&found(profile));
    for (label, fact) in facts(profile) {
        text.push_str(&format!("- {label}: {}\n", plain(&fact)));
    }
    let all = profile.total().get(of);
    text.push_str(&format!("\n{}: **{}** in all\n", of.name_and_unit().0, of.amount(all)));
    for (heading, order) in [("self", Order::SelfWeight), ("total", Order::TotalWeight)] {
        text.push_str(&format!(
            "\n## By {heading}\n\n| total | | self | | function | place |\n|--:|--:|--:|--:|---|---|\n"
        ));
        text.push_str(&rows(profile, &top(profile, of, order), options.text.limit));
    }
    text.push_str(&by_thread(profile, of, all));
    Ok(out.write_all(text.as_bytes())?)
}

fn found(profile: &Profile) -> String {
    let mut text = String::new();
    for finding in findings(profile) {
        let share = finding.share.map_or_else(String::new, |it| format!("**{:.1}%** ", it * 100.0));
        let place = place_of(profile, &finding);
        let place = if place.is_empty() { place } else { format!(" ({})", code(&place)) };
        text.push_str(&format!("- {share}{}{place}\n", plain(&finding.text)));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

fn rows(profile: &Profile, top: &Top, limit: usize) -> String {
    let limit = if limit == 0 { top.rows.len() } else { limit };
    let mut text = String::new();
    for row in top.rows.iter().take(limit) {
        let Some(function) = profile.function(row.function) else { continue };
        let (total, own) = (row.total_weight, row.self_weight);
        text.push_str(&format!(
            "| {} | {} | {} | {} | {} | {} |\n",
            top.of.amount(total),
            percent(total, top.total),
            top.of.amount(own),
            percent(own, top.total),
            code(&display_name(function)),
            place(function)
        ));
    }
    if top.rows.len() > limit {
        text.push_str(&format!("\n{} more left out.\n", top.rows.len() - limit));
    }
    text
}

fn by_thread(profile: &Profile, of: SampleType, all: u64) -> String {
    let mut sums = vec![Weights::default(); profile.threads.len()];
    for sample in &profile.samples {
        sums.get_mut(sample.thread).into_iter().for_each(|it| it.add(&sample.weights));
    }
    let names = threads::names(profile);
    let mut rows: Vec<(&String, u64)> = names.iter().zip(sums.iter().map(|it| it.get(of))).collect();
    rows.retain(|it| it.1 > 0);
    rows.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
    if rows.len() < 2 {
        return String::new();
    }
    let line = |(name, weight): (&String, u64)| {
        format!("| {} | {} | {} |\n", of.amount(weight), percent(weight, all), code(name))
    };
    let lines: String = rows.into_iter().map(line).collect();
    format!("\n## By thread\n\n| {} | | thread |\n|--:|--:|---|\n{lines}", of.name_and_unit().0)
}

fn place(function: &Function) -> String {
    match (clean(&function.path), function.first_line) {
        (path, _) if path.is_empty() => String::new(),
        (path, 0) => code(&path),
        (path, line) => code(&format!("{path}:{line}")),
    }
}

/// Escapes a text so that none of it is markup.
fn plain(text: &str) -> Cow<'_, str> {
    let text = clean(text);
    let special = |letter: char| {
        matches!(
            letter,
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '<' | '>' | '#' | '|' | '!' | '~' | '@'
        )
    };
    if !text.contains(special) {
        return text;
    }
    let mut escaped = String::new();
    for letter in text.chars() {
        if special(letter) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped.into()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn words_are_no_markup() {
        assert_eq!(plain("<b> & [x](y)"), "\\<b\\> & \\[x\\](y)");
    }
}
