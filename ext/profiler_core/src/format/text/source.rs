//! Source files with the weight of each line beside it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::cells::{Fit, WEIGHT_COLUMNS};
use super::table::{push_line, MIN_COLUMNS};
use crate::analysis::method::Both;
use crate::profile::{Meta, Profile, SampleType};
use crate::text::clean;

/// The number of context lines around those with a weight.
const AROUND: u32 = 2;
/// The size in bytes from which a file is not read.
const TOO_LARGE: u64 = 10_000_000;
/// The number of columns before the text of a line.
const NUMBERS: usize = 2 + WEIGHT_COLUMNS + 2 + WEIGHT_COLUMNS + 2 + 5 + 1;
/// The extensions of files that are not text.
const COMPILED: [&str; 4] = ["so", "bundle", "dll", "o"];

/// The weights of the lines of a file, and how they are displayed.
#[derive(Clone, Copy, Debug)]
pub struct SourceWeights<'a> {
    /// The type of the weights.
    pub of: SampleType,
    /// The weight of all files.
    pub whole: u64,
    /// The directories of sources whose paths are relative, or do not exist.
    pub roots: &'a [PathBuf],
    /// The end of the profile: the lines of a newer file may be different. `None` if it is unknown.
    pub ended: Option<SystemTime>,
    /// The terminal's width and colours.
    pub fit: Fit,
}

/// Returns the end of a profile, if its time is known.
#[must_use]
pub fn end_of(profile: &Profile) -> Option<SystemTime> {
    let Meta { started_at_ns, duration_ns, .. } = profile.meta;
    let known = started_at_ns > 0 && duration_ns > 0;
    known.then(|| SystemTime::UNIX_EPOCH + Duration::from_nanos(started_at_ns.saturating_add(duration_ns)))
}

/// Returns some files, as displayed by `profiler annotate`.
#[must_use]
pub fn sources(files: &[(String, BTreeMap<u32, Both>)], by: SourceWeights<'_>) -> String {
    let SourceWeights { of, whole, fit, .. } = by;
    let mut text = String::new();
    let title = format!("{}: {} in all", of.name_and_unit().0, of.amount(whole));
    push_line(&mut text, &fit.paint().bold(&title));
    for (path, lines) in files {
        text.push('\n');
        push_source(&mut text, path, lines, by);
    }
    text
}

/// Adds a file: its lines with a weight, and the lines around them.
pub(super) fn push_source(text: &mut String, path: &str, lines: &BTreeMap<u32, Both>, by: SourceWeights<'_>) {
    let fit = by.fit;
    let shown = if path.is_empty() { "(no name)".into() } else { clean(path) };
    let known: Vec<u32> = lines.keys().copied().filter(|it| *it > 0).collect();
    if known.is_empty() {
        let path = fit.cut(&shown, fit.columns.saturating_sub(27));
        return push_line(text, &format!("  {path} (none of its lines is known)"));
    }
    let read = read(path, by.roots);
    let but = match &read {
        None => " (source not found: only the numbers of its lines)",
        Some((_, modified)) if by.ended.zip(*modified).is_some_and(|(ended, it)| it > ended) => {
            " (changed since the recording: lines may not match)"
        }
        Some(_) => "",
    };
    let source = read.map(|it| it.0);
    let path = fit.cut(&shown, fit.columns.saturating_sub(2 + but.len()));
    push_line(text, &format!("  {path}{but}"));
    push_line(text, &format!("  {:>WEIGHT_COLUMNS$}  {:>WEIGHT_COLUMNS$}   LINE", "TOTAL", "SELF"));
    for number in numbers(&known, source.as_ref().map(|it| it.len() as u32)) {
        match number {
            None => push_line(text, &fit.paint().dim(&format!("{:38}...", ""))),
            Some(number) => {
                let code = source.as_ref().and_then(|it| it.get(number as usize - 1));
                push_line(text, &line(number, lines.get(&number), code.map_or("", String::as_str), by));
            }
        }
    }
}

fn line(number: u32, weights: Option<&Both>, code: &str, by: SourceWeights<'_>) -> String {
    let SourceWeights { of, whole, fit, .. } = by;
    let weight = |weight: u64| fit.weight(of, weight, whole);
    let blank = " ".repeat(WEIGHT_COLUMNS);
    let weights = match weights {
        None => format!("{blank}  {blank}"),
        Some(Both { total, own: 0 }) => format!("{}  {blank}", weight(*total)),
        Some(Both { total, own }) => format!("{}  {}", weight(*total), weight(*own)),
    };
    let columns = fit.columns.saturating_sub(NUMBERS).max(MIN_COLUMNS);
    let code: String = code.chars().take(columns).collect();
    format!("  {weights}  {number:>5} {code}")
}

/// Returns the numbers of the lines to show, with `None` for gaps. Lines after the last one of the file have
/// no text.
fn numbers(known: &[u32], last: Option<u32>) -> Vec<Option<u32>> {
    let Some(last) = last else { return known.iter().copied().map(Some).collect() };
    let mut numbers: Vec<Option<u32>> = Vec::new();
    let mut before = None;
    for weighed in known.iter().copied().filter(|it| *it <= last.saturating_add(AROUND)) {
        for number in weighed.saturating_sub(AROUND).max(1)..=weighed.saturating_add(AROUND).min(last) {
            if before.is_some_and(|it| number <= it) {
                continue;
            }
            if before.is_some_and(|it| number > it + 1) {
                numbers.push(None);
            }
            numbers.push(Some(number));
            before = Some(number);
        }
    }
    numbers.extend(known.iter().copied().filter(|it| *it > last).map(Some));
    numbers
}

/// Returns the lines of a file, each on one line and harmless to a terminal, and its modification time.
/// `None` if it cannot be read.
fn read(path: &str, roots: &[PathBuf]) -> Option<(Vec<String>, Option<SystemTime>)> {
    let path = Path::new(path);
    if path.extension().is_some_and(|it| COMPILED.iter().any(|compiled| it == *compiled)) {
        return None;
    }
    let below = roots.iter().map(|root| root.join(path.strip_prefix("/").unwrap_or(path)));
    let is_text = |it: &PathBuf| std::fs::metadata(it).is_ok_and(|it| it.is_file() && it.len() < TOO_LARGE);
    let path = std::iter::once(path.to_owned()).chain(below).find(is_text)?;
    let bytes = std::fs::read(&path).ok()?;
    let modified = std::fs::metadata(&path).and_then(|it| it.modified()).ok();
    let text = String::from_utf8_lossy(&bytes);
    // Leading spaces are the shape of code, and are kept.
    let line = |text: &str| {
        let text = text.replace('\t', "  ");
        let blanks = text.chars().take_while(|it| *it == ' ').count();
        format!("{}{}", " ".repeat(blanks), clean(text.trim_start_matches(' ')))
    };
    Some((text.lines().map(line).collect(), modified))
}
