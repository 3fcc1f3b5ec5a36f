//! A profile of objects: what its report and its pprof say.

use profiler_core::format::{self, Format, Options};
use profiler_core::profile::{Function, Meta, Profile, SampleType, Stats, Thread};
use profiler_core::record::State;

use crate::build::{build, Row};
use crate::golden::assert_golden;
use crate::wire;

fn objects() -> Profile {
    let function = |name: &str, path: &str, first_line| Function {
        name: name.into(),
        class_name: String::new(),
        method_name: String::new(),
        path: path.into(),
        first_line,
    };
    let main = (function("<main>", "/app/bin/shop", 1), 12);
    let parse = (function("Shop::Feed#parse", "/app/lib/feed.rb", 20), 24);
    let split = (function("String#split", "<cfunc>", 0), 0);
    let row = |frames: &[&(Function, u32)], labels: &[(&str, &str)], weights: [u64; 4]| Row {
        frames: frames.iter().map(|it| (*it).clone()).collect(),
        thread: 0,
        state: State::Running,
        labels: labels.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
        weights: SampleType::ALL.into_iter().skip(6).zip(weights).collect(),
    };
    let class = |name| ("class", name);
    let rows = [
        row(&[&main, &parse, &split], &[class("String")], [90_000, 3_600_000, 0, 0]),
        row(&[&main, &parse, &split], &[class("Array")], [1_000, 160_000, 0, 0]),
        row(&[&main, &parse], &[class("Shop::Item")], [2_000, 80_000, 0, 0]),
        row(&[&main, &parse], &[("age", "2 to 3"), class("Shop::Item")], [0, 0, 1_000, 40_000]),
        row(&[&main, &parse, &split], &[("age", "1"), class("String")], [0, 0, 3_000, 120_000]),
        row(&[&main], &[class("(internal to Ruby)")], [500, 20_000, 0, 0]),
    ];
    let types: Vec<SampleType> = SampleType::ALL.into_iter().skip(6).collect();
    let mut profile = build(&types, &[Thread { native_id: 4711, name: "main".into() }], &rows);
    profile.meta = Meta { modes: vec!["heap".into()], every: 500, ..Meta::default() };
    profile.stats = Stats { vm_objects: 93_500, ..Stats::default() };
    profile
}

fn text(of: Option<SampleType>) -> String {
    let mut bytes = Vec::new();
    let options = Options { sample_type: of, ..Options::default() };
    format::write_with(Format::Text, &objects(), &options, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn the_report_shows_counts_and_classes() {
    assert_golden("objects.txt", &format!("{}\n{}", text(None), text(Some(SampleType::AllocObjects))));
}

#[test]
fn pprof_has_the_types_in_order_and_the_window_as_period() {
    let mut packed = Vec::new();
    format::write(Format::Pprof, &objects(), &mut packed).unwrap();
    assert_golden("objects_pprof.txt", &wire::dump(&wire::unpack(&packed)));
    let read = format::read(&packed).unwrap();
    assert_eq!((read.total(), read.meta.every), (objects().total(), 500));
}
