//! The findings of the report: a fact a line, with its share before it and its place behind it.

use super::Paint;
use crate::analysis::findings::{Finding, Kind};
use crate::profile::Profile;
use crate::text::clean;
use crate::text::shorten;

/// The columns of a share, right-aligned: `100.0%`.
const SHARE_COLUMNS: usize = 6;
const GAP: &str = "  ";
/// A place gets no fewer, if it has so many.
const PLACE_COLUMNS: usize = 24;
/// A name is cut to no fewer, unless a line would not fit.
const NAME_COLUMNS: usize = 12;

/// The lines of `findings`, with at most `width` columns each. A profile without any says so.
pub(in crate::format) fn lines(
    profile: &Profile,
    findings: &[Finding],
    width: Option<usize>,
    paint: Paint,
) -> String {
    let outstanding = |it: &&Finding| !matches!(it.kind, Kind::Idle | Kind::Trust);
    let mut text = String::new();
    if !findings.iter().any(|it| outstanding(&it)) {
        text.push_str(&format!("{:>SHARE_COLUMNS$}{GAP}nothing stands out\n", ""));
    }
    for finding in findings {
        text.push_str(&line(profile, finding, width, paint));
        text.push('\n');
    }
    text
}

fn line(profile: &Profile, finding: &Finding, width: Option<usize>, paint: Paint) -> String {
    let share = finding.share.map_or_else(String::new, |it| format!("{:.1}%", it * 100.0));
    let share = paint.bold(&format!("{share:>SHARE_COLUMNS$}"));
    let (fact, place) = (clean(&finding.text).into_owned(), place_of(profile, finding));
    let Some(available) = width.map(|it| it.saturating_sub(SHARE_COLUMNS + GAP.len())) else {
        return with_place(&format!("{share}{GAP}{fact}"), &place, paint);
    };
    let columns = |text: &str| text.chars().count();
    let fact_alone = available.saturating_sub(columns(&fact) + GAP.len());
    // Where the whole path would cost words, the file's name has to do.
    let name = place.rsplit('/').next().filter(|_| columns(&place) > fact_alone).unwrap_or(&place);
    let place = shorten(name, fact_alone.max(PLACE_COLUMNS).min(available));
    let taken = if place.is_empty() { 0 } else { columns(&place) + GAP.len() };
    let fact = shorten_names(&fact, available.saturating_sub(taken));
    with_place(&format!("{share}{GAP}{fact}"), &place, paint)
}

fn with_place(text: &str, place: &str, paint: Paint) -> String {
    if place.is_empty() {
        text.to_owned()
    } else {
        format!("{text}{GAP}{}", paint.dim(place))
    }
}

/// The longest words lose their middle first: these are names, and the sentence around them stays whole.
fn shorten_names(text: &str, columns: usize) -> String {
    let cut = |most: usize| text.split(' ').map(|it| shorten(it, most)).collect::<Vec<_>>().join(" ");
    let longest = text.split(' ').map(|it| it.chars().count()).max().unwrap_or(0);
    let fitting = (NAME_COLUMNS..=longest).rev().map(cut).find(|it| it.chars().count() <= columns);
    fitting.unwrap_or_else(|| shorten(text, columns))
}

/// The path and the line that it names.
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
        assert!(text.starts_with("100.0%  running Deep::") && text.ends_with("  x.rb\n"), "{text}");
    }

    #[test]
    fn names_lose_their_middle_before_the_words_around_them() {
        let text = "running CSV::Parser#parse_quoted_column_value, called from Report#totals";
        assert_eq!(shorten_names(text, 72), text);
        assert_eq!(shorten_names(text, 56), "running CSV::Pars...umn_value, called from Report#totals");
        assert_eq!(shorten_names(text, 20), "running ...rt#totals");
        assert_eq!(shorten_names("", 5), "");
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
