//! The formats of other tools: their golden files, that sums stay what they are, and that our own readers read the same ones.

use profiler_core::format::{self, read, Format, Options, Style};
use profiler_core::profile::{Profile, SampleType};
use proptest::prelude::*;
use serde_json::Value;

use crate::example::example;
use crate::golden::{assert_golden, drawing, written};
use crate::pprof::profiles;
use crate::timeline::timed;

fn pretty(text: &str) -> String {
    format!("{:#}\n", serde_json::from_str::<Value>(text).unwrap())
}

#[test]
fn golden() {
    let options = Options::default();
    for (name, format) in [
        ("timed.speedscope.json", Format::Speedscope),
        ("timed.firefox.json", Format::Firefox),
        ("timed.cpuprofile", Format::Cpuprofile),
        ("timed.stackprof.json", Format::Stackprof),
        ("timed.json", Format::Json),
    ] {
        assert_golden(name, &pretty(&written(format, &timed(), &options)));
    }
    assert_golden("stacks.callgrind", &written(Format::Callgrind, &example(), &options));
    assert_golden("summary.md", &written(Format::Markdown, &example(), &options));
}

#[test]
fn pictures() {
    for (name, style) in Style::ALL {
        let options = Options { style, ..Options::default() };
        assert_golden(&format!("{name}.svg"), &drawing(&written(Format::Svg, &timed(), &options)));
    }
    let options = Options { style: Style::Flamechart, ..Options::default() };
    let refused = format::write_with(Format::Svg, &example(), &options, &mut Vec::new()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the profile has no timeline (record it with --timeline, or timeline: true)"
    );
}

#[test]
fn a_differential_picture_distinguishes_more_from_less() {
    let mut later = example();
    later.samples[0].weights.set(SampleType::Cpu, 800_000_000);
    later.samples.remove(3);
    let mut bytes = Vec::new();
    format::svg::write_difference(&example(), &later, 1.0, &Options::default(), &mut bytes).unwrap();
    assert_golden("difference.svg", &drawing(&String::from_utf8(bytes).unwrap()));
}

/// The sum of what every profile in a file of speedscope weighs, by sample type.
fn speedscope_sum(text: &str, of: SampleType) -> u64 {
    let file: Value = serde_json::from_str(text).unwrap();
    let suffix = format!(" - {}", of.name_and_unit().0);
    let profiles = file["profiles"].as_array().unwrap().iter();
    let named = profiles.filter(|it| it["name"].as_str().unwrap().ends_with(&suffix));
    named.flat_map(|it| it["weights"].as_array().unwrap()).map(|it| it.as_u64().unwrap()).sum()
}

#[test]
fn rejects_types_that_are_not_time() {
    let mut profile = example();
    profile.sample_types = vec![SampleType::AllocSpace];
    let refused = format::write(Format::Cpuprofile, &profile, &mut Vec::new()).unwrap_err();
    assert_eq!(refused.to_string(), "the profile has no time (it has alloc_space)");
}

fn readable(profile: &Profile, format: Format) -> Profile {
    read(written(format, profile, &Options::default()).as_bytes()).unwrap()
}

proptest! {
    #![proptest_config(crate::config())]

    #[test]
    fn no_weight_is_lost_in_conversion((profile, _) in profiles()) {
        let total = profile.total();
        let options = Options::default();
        let text = written(Format::Speedscope, &profile, &options);
        for of in &profile.sample_types {
            prop_assert_eq!(speedscope_sum(&text, *of), total.get(*of));
            prop_assert_eq!(readable(&profile, Format::Speedscope).total().get(*of), total.get(*of));
        }
        for of in &profile.sample_types {
            let options = Options { sample_type: Some(*of), ..Options::default() };
            let there = read(written(Format::Firefox, &profile, &options).as_bytes()).unwrap();
            prop_assert_eq!(there.total().get(*of), total.get(*of), "{:?}", of);
        }
        let events = profile.sample_types.iter().map(|of| format!(" {}", total.get(*of))).collect::<String>();
        let callgrind = written(Format::Callgrind, &profile, &options);
        let end = format!("totals:{events}\n");
        prop_assert!(callgrind.ends_with(&end));
        let shown = profile.default_sample_type();
        let folded = written(Format::Folded, &profile, &options);
        // A name can look like a remark, and stacks of one frame like prose.
        let is_clear = |line: &str| !line.starts_with("# ") && line.split(' ').count() == 2;
        if !folded.is_empty() && (folded.lines().all(is_clear) || folded.contains(';') && !folded.contains("# ")) {
            prop_assert_eq!(read(folded.as_bytes()).unwrap().total().get(SampleType::Samples), total.get(shown));
        }
        if shown == SampleType::Cpu {
            let there = readable(&profile, Format::Stackprof).total().get(shown);
            prop_assert!(total.get(shown) - there < 1_000, "{} of {}", there, total.get(shown));
        }
    }
}
