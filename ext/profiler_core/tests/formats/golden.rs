//! The bytes of each format for one profile, against the files in `tests/golden`.

use std::path::Path;

use profiler_core::error::Error;
use profiler_core::format::{self, Format, Options, TextOptions, ThreadFrames};
use profiler_core::profile::{Profile, SampleType, Weights};

use crate::example::example;
use crate::wire;

pub(crate) fn assert_golden(name: &str, written: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, written).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(golden == written, "{} differs (UPDATE_GOLDEN=1 accepts). Written:\n{written}", path.display());
}

pub(crate) fn written(format: Format, profile: &Profile, options: &Options) -> String {
    let mut bytes = Vec::new();
    format::write_with(format, profile, options, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn text(options: TextOptions) -> String {
    written(Format::Text, &example(), &Options { text: options, ..Options::default() })
}

/// The picture without the style and the script that its maker puts in.
pub(crate) fn drawing(svg: &str) -> String {
    let (head, rest) = svg.split_once("<style").unwrap();
    let (_, body) = rest.split_once("</script>").unwrap();
    format!("{head}{body}").replace("><", ">\n<")
}

#[test]
fn pprof() {
    let mut packed = Vec::new();
    format::write(Format::Pprof, &example(), &mut packed).unwrap();
    assert_eq!(packed[4..8], [0; 4], "no time in the header");
    assert_golden("pprof.txt", &wire::dump(&wire::unpack(&packed)));
}

/// A file of the past must stay readable, so it is read, not compared. The specs of the gem need one with
/// labels in it.
#[test]
fn the_fixture_of_the_specs_is_the_example() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/fixtures/shop.pb.gz");
    let mut expected = example();
    expected.samples.retain(|it| it.weights != Weights::default());
    expected.stacks.pop();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let mut packed = Vec::new();
        format::write(Format::Pprof, &expected, &mut packed).unwrap();
        std::fs::write(&path, packed).unwrap();
    }
    assert_eq!(format::read(&std::fs::read(path).unwrap()).unwrap(), expected);
}

#[test]
fn folded() {
    assert_golden("stacks.folded", &written(Format::Folded, &example(), &Options::default()));
    let merged = Options { thread_frames: ThreadFrames::Never, ..Options::default() };
    assert_golden("merged.folded", &written(Format::Folded, &example(), &merged));
}

#[test]
fn folded_stacks_name_threads_only_if_there_are_several() {
    let mut profile = example();
    profile.samples.truncate(1);
    let frames = "<main>;Array#each;Shop::Order#save;Shop::Order#<=> 401234000\n";
    assert_eq!(written(Format::Folded, &profile, &Options::default()), frames);
    let always = Options { thread_frames: ThreadFrames::Always, ..Options::default() };
    assert_eq!(written(Format::Folded, &profile, &always), format!("main;{frames}"));
}

#[test]
fn svg() {
    let svg = written(Format::Svg, &example(), &Options::default());
    assert_golden("picture.svg", &drawing(&svg));
    assert_eq!(svg.matches("<script").count(), 1, "the maker's own");
    let again = written(Format::Svg, &example(), &Options::default());
    assert_eq!(svg, again);
}

#[test]
fn frames_are_merged_around_names_that_share_a_prefix() {
    // In order of bytes, `save!;...` stands between `save 1` and `save;...`.
    let svg = written(Format::Svg, &example(), &Options::default());
    assert_eq!(svg.matches("<title>Shop::Order#save (701,234 us, 82.79%)</title>").count(), 1);
    assert_eq!(svg.matches("<title>Shop::Order#save! (").count(), 1);
}

#[test]
fn an_empty_profile_renders_a_notice() {
    let mut profile = example();
    profile.samples.clear();
    assert_golden("empty.svg", &written(Format::Svg, &profile, &Options::default()));
    assert_golden("empty.txt", &written(Format::Text, &profile, &Options::default()));
    assert_eq!(written(Format::Folded, &profile, &Options::default()), "");
    let nothing = Profile::default();
    Format::all().for_each(|it| format::write(it, &nothing, &mut Vec::new()).unwrap());
}

#[test]
fn report() {
    assert_golden("report.txt", &text(TextOptions::default()));
    let narrow = TextOptions { width: Some(72), limit: 3, sort_total: true, ..TextOptions::default() };
    let narrow = text(narrow);
    let table = narrow.split_once("TOTAL").unwrap().1;
    assert!(table.lines().all(|line| line.chars().count() <= 72), "{narrow}");
    assert_golden("narrow.txt", &narrow);
}

#[test]
fn a_narrow_report_by_a_label_shortens_the_longest_texts_alone() {
    let by = TextOptions { width: Some(90), by: Some("state".into()), ..TextOptions::default() };
    let report = text(by);
    let row = report.lines().find(|line| line.contains("running")).unwrap();
    assert!(row.contains("Shop::Order#<=>") && row.contains("/app/lib/shop.rb:20"), "{report}");
    assert!(row.chars().count() <= 90, "{report}");
}

#[test]
fn colour_changes_no_text_of_the_report() {
    let plain = text(TextOptions::default());
    let mut coloured = text(TextOptions { color: true, ..TextOptions::default() });
    assert_ne!(plain, coloured);
    while let Some((before, rest)) = coloured.split_once('\u{1b}') {
        coloured = format!("{before}{}", rest.split_once('m').unwrap().1);
    }
    let trimmed: String = coloured.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    assert_eq!(plain, trimmed);
}

#[test]
fn rejects_types_that_were_not_measured() {
    let options = Options { sample_type: Some(SampleType::Wall), ..Options::default() };
    for format in [Format::Folded, Format::Svg, Format::Text] {
        let refused = format::write_with(format, &example(), &options, &mut Vec::new()).unwrap_err();
        assert!(matches!(refused, Error::NotMeasured { .. }));
        assert_eq!(refused.to_string(), "the profile has no wall (it has samples, cpu)");
    }
}
