//! The findings in the report: a fact with its share before it and its place after it, on one to three lines.

use super::Paint;
use crate::analysis::findings::Finding;
use crate::profile::Profile;
use crate::text::clean;
use crate::text::shorten;

/// The number of columns of a share, right-aligned: `100.0%`.
const SHARE_COLUMNS: usize = 6;
const GAP: &str = "  ";
/// The minimum number of columns to which a name is cut, unless a line would not fit.
const NAME_COLUMNS: usize = 12;
/// The maximum number of lines of a finding.
const MAX_LINES: usize = 3;

/// Returns the lines of `findings`, of at most `width` columns each. A profile without findings gets a line
/// that says so.
pub(in crate::format) fn lines(
    profile: &Profile,
    findings: &[Finding],
    width: Option<usize>,
    paint: Paint,
) -> String {
    let mut text = String::new();
    if !findings.iter().any(Finding::stands_out) {
        text.push_str(&format!("{:>SHARE_COLUMNS$}{GAP}nothing stands out\n", ""));
    }
    for finding in findings {
        text.push_str(&finding_lines(profile, finding, width, paint));
    }
    text
}

fn finding_lines(profile: &Profile, finding: &Finding, width: Option<usize>, paint: Paint) -> String {
    let share = finding.share.map_or_else(String::new, |it| format!("{:.1}%", it * 100.0));
    let share = paint.bold(&format!("{share:>SHARE_COLUMNS$}"));
    let (fact, place) = (clean(&finding.text).into_owned(), place_of(profile, finding));
    let Some(available) = width.map(|it| it.saturating_sub(SHARE_COLUMNS + GAP.len())) else {
        return format!("{}\n", with_place(&format!("{share}{GAP}{fact}"), &place, paint));
    };
    let (fact_lines, place) = fitted(&fact, &place, available.max(NAME_COLUMNS));
    let mut text = String::new();
    for (number, line) in fact_lines.iter().enumerate() {
        let before = if number == 0 { share.clone() } else { " ".repeat(SHARE_COLUMNS) };
        let place = if number + 1 == fact_lines.len() { place.as_str() } else { "" };
        text.push_str(&with_place(&format!("{before}{GAP}{line}"), place, paint));
        text.push('\n');
    }
    text
}

fn with_place(text: &str, place: &str, paint: Paint) -> String {
    if place.is_empty() {
        text.to_owned()
    } else {
        format!("{text}{GAP}{}", paint.dim(place))
    }
}

fn columns(text: &str) -> usize {
    text.chars().count()
}

/// Fits the fact into lines of `available` columns, with the place after the last of them. A fact first
/// continues on the next line before it is shortened, and a path that does not fit is reduced to its file
/// name. Then names lose their beginnings, as the method says more.
fn fitted(fact: &str, place: &str, available: usize) -> (Vec<String>, String) {
    let name = place.rsplit('/').next().unwrap_or(place);
    let fits = |lines: &[String], place: &str, most: usize| {
        let last = lines.last().map_or(0, |it| columns(it));
        let taken = if place.is_empty() { 0 } else { columns(place) + GAP.len() };
        lines.len() <= most && last + taken <= available && lines.iter().all(|it| columns(it) <= available)
    };
    let whole = broken(fact, available, place);
    for most in 1..=MAX_LINES {
        for place in [place, name] {
            let lines = broken(fact, available, place);
            if fits(&lines, place, most) {
                return (lines, place.to_owned());
            }
        }
    }
    let longest = fact.split(' ').map(columns).max().unwrap_or(0);
    // A first line with one word is a waste, as long as the names can be shortened further.
    for words in [2, 1] {
        for most in (NAME_COLUMNS..longest).rev() {
            let shorter = fact.split(' ').map(|it| shorten_name(it, most)).collect::<Vec<_>>().join(" ");
            let lines = broken(&shorter, available, name);
            let first_words = lines.first().map_or(0, |it| it.split(' ').count());
            if first_words >= words && fits(&lines, name, MAX_LINES) {
                return (lines, name.to_owned());
            }
        }
    }
    // The part that does not fit is the end of a long statement.
    let place = shorten(name, available / 3);
    let mut lines: Vec<String> = whole.iter().take(MAX_LINES).map(|it| shorten(it, available)).collect();
    if let Some(last) = lines.last_mut() {
        *last = cut(last, available.saturating_sub(columns(&place) + GAP.len()));
    }
    (lines, place)
}

/// Breaks the text into lines of at most `available` columns, at spaces. The last line has room for the
/// place, if that takes no extra line.
fn broken(text: &str, available: usize, place: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let Some(line) = lines.last_mut() else { continue };
        if !line.is_empty() && columns(line) + 1 + columns(word) > available {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    let last = lines.last().map_or(0, |it| columns(it));
    if lines.len() == 1 && !place.is_empty() && last + GAP.len() + columns(place) > available {
        // The last words go to the next line with the place, so that it does not stand there by itself.
        let split = lines
            .first()
            .and_then(|it| it.rsplit_once(", "))
            .map(|(head, tail)| (format!("{head},"), tail.to_owned()));
        if let Some((head, tail)) = split {
            return vec![head, tail];
        }
        return vec![lines.pop().unwrap_or_default(), String::new()];
    }
    lines
}

/// Returns the beginning of a text, with dots for the rest.
fn cut(text: &str, most: usize) -> String {
    let kept: String = text.chars().take(most.saturating_sub(3)).collect();
    format!("{kept}...")
}

/// Shortens a name to `most` columns: without the first of its namespaces, or else without its middle.
fn shorten_name(name: &str, most: usize) -> String {
    if columns(name) <= most {
        return name.to_owned();
    }
    let inner = name.match_indices("::").map(|(at, _)| format!("...{}", name.get(at..).unwrap_or_default()));
    inner.into_iter().find(|it| columns(it) <= most).unwrap_or_else(|| shorten(name, most))
}

/// Formats the path and line that a finding names.
pub(in crate::format) fn place_of(profile: &Profile, finding: &Finding) -> String {
    let function =
        |it: crate::profile::Frame| profile.function(it.function).map(|function| (function, it.line));
    match finding.place.and_then(function) {
        None => String::new(),
        Some((function, 0)) => clean(&function.path).into_owned(),
        Some((function, line)) => format!("{}:{line}", clean(&function.path)),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::analysis::findings::findings;
    use crate::format::read;
    use crate::profile::Function;

    #[test]
    fn a_line_fits_and_keeps_its_share_and_the_end_of_its_place() {
        let mut profile = read(format!("main;{} 1000\n", "Deep::Name#".repeat(12)).as_bytes()).unwrap();
        let long = |it: &mut Function| it.path = format!("/srv/{}/x.rb", "deep/".repeat(20));
        profile.functions.iter_mut().for_each(long);
        let found = findings(&profile);
        let text = lines(&profile, &found, Some(80), Paint { on: false });
        assert!(text.lines().all(|it| it.chars().count() <= 80), "{text}");
        assert!(text.starts_with("100.0%  running ...::Name#Deep::"), "{text}");
        assert!(text.ends_with("  x.rb\n"), "{text}");
    }

    #[test]
    fn a_name_in_the_middle_fits_as_well() {
        let fact = format!("running {}, 19.5% in Integer#to_s", "Long::Name#method_".repeat(5));
        let text = shown(&fact, "/srv/app.rb:42", 72);
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.ends_with("Integer#to_s  app.rb:42"), "{text}");
    }

    fn shown(fact: &str, place: &str, available: usize) -> String {
        let (lines, place) = fitted(fact, place, available);
        assert!(lines.iter().all(|it| columns(it) <= available), "{lines:?}");
        with_place(&lines.join("\n"), &place, Paint { on: false })
    }

    #[test]
    fn a_fact_goes_on_below_before_it_loses_anything() {
        let text = "running CSV::Parser#parse_quoted_column_value, called from Report#totals";
        assert_eq!(shown(text, "/srv/report.rb:7", 100), format!("{text}  /srv/report.rb:7"));
        assert_eq!(shown(text, "/srv/report.rb:7", 86), format!("{text}  report.rb:7"));
        assert_eq!(
            shown(text, "/srv/report.rb:7", 72),
            "running CSV::Parser#parse_quoted_column_value,\ncalled from Report#totals  /srv/report.rb:7"
        );
        assert_eq!(
            shown(text, "/srv/report.rb:7", 46),
            "running CSV::Parser#parse_quoted_column_value,\ncalled from Report#totals  /srv/report.rb:7"
        );
        assert_eq!(
            shown(text, "/srv/report.rb:7", 40),
            "running\nCSV::Parser#parse_quoted_column_value,\ncalled from Report#totals  report.rb:7"
        );
    }

    #[test]
    fn a_name_loses_its_namespaces_before_its_method() {
        assert_eq!(
            shorten_name("Jekyll::Renderer#place_in_layouts", 33),
            "Jekyll::Renderer#place_in_layouts"
        );
        assert_eq!(shorten_name("Jekyll::Renderer#place_in_layouts", 30), "...::Renderer#place_in_layouts");
        assert_eq!(shorten_name("A::B::C#method", 13), "...::C#method");
        assert_eq!(shorten_name("String#gsub", 9), "Str...sub");
    }

    #[test]
    fn a_statement_loses_its_end() {
        let text = format!(
            "items queried 60 times a request under orders#index, 180 ms: SELECT {}",
            "a, ".repeat(60)
        );
        let shown = shown(&text, "/srv/app/orders.rb:7", 72);
        assert!(
            shown.starts_with("items queried 60 times a request under orders#index, 180 ms: SELECT a,\n"),
            "{shown}"
        );
        assert!(shown.ends_with("...  orders.rb:7"), "{shown}");
    }

    #[test]
    fn a_long_path_is_its_files_name_before_words_are_lost() {
        let mut profile = read(b"main;App::Importer#import_everything_at_once;Array#sort_by 1000\n").unwrap();
        profile.functions.iter_mut().for_each(|it| it.path = "/srv/app/lib/importer/rows.rb".into());
        let found = findings(&profile);
        let text = |width| lines(&profile, &found, Some(width), Paint { on: false });
        assert!(text(140).contains("  /srv/app/lib/importer/rows.rb"), "{}", text(140));
        let narrow = text(50);
        assert!(narrow.contains("running Array#sort_by  rows.rb\n"), "{narrow}");
    }

    #[test]
    fn a_profile_without_findings_says_so() {
        let text = lines(&Profile::default(), &[], Some(80), Paint { on: false });
        assert_eq!(text, "        nothing stands out\n");
    }
}
