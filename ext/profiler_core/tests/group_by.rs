//! Tests that grouping by a label attributes each sample to one value, and says what it does not know.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "formats/build.rs"]
#[allow(dead_code)] // these two are the tests' of the formats
mod build;
#[path = "formats/example.rs"]
mod example;

use profiler_core::analysis::group_by::{group_by, GroupRow};
use profiler_core::format::{self, Format, Options, TextOptions};
use profiler_core::profile::{LabelSet, Profile, SampleType};

/// Value, milliseconds, and name and milliseconds of the heaviest function.
fn groups(profile: &Profile, label: &str) -> Vec<(String, u64, String, u64)> {
    let by = group_by(profile, label, SampleType::Cpu).unwrap();
    assert_eq!(by.rows.iter().map(|it| it.weight).sum::<u64>(), by.total);
    assert_eq!(by.total, profile.total().get(SampleType::Cpu));
    let tell = |row: &GroupRow| {
        let (function, own) = row.heaviest.unwrap();
        let function = profile.function(function).unwrap().name.clone();
        (row.name().to_owned(), row.weight / 1_000_000, function, own / 1_000_000)
    };
    by.rows.iter().map(tell).collect()
}

fn row(value: &str, weight: u64, function: &str, own: u64) -> (String, u64, String, u64) {
    (value.into(), weight, function.into(), own)
}

#[test]
fn each_value_has_its_sum_and_its_heaviest_function() {
    let anonymous = "#<anonymous subclass of Shop::Order>#total";
    let (compare, none) = ("Shop::Order#<=>", "(none)");
    let expected = [row(none, 807, compare, 401), row("orders#index", 40, anonymous, 40)];
    assert_eq!(groups(&example::example(), "endpoint"), expected);
}

#[test]
fn thread_and_state_take_precedence_over_labels() {
    let anonymous = "#<anonymous subclass of Shop::Order>#total";
    let profile = example::example(); // which has a user's label called "state"
    let expected =
        [row("main (4711)", 782, "Shop::Order#<=>", 401), row("worker; 1 (4712)", 64, anonymous, 40)];
    assert_eq!(groups(&profile, "thread"), expected);
    let expected = [row("running", 838, "Shop::Order#<=>", 401), row("gc", 8, "(garbage collection)", 8)];
    assert_eq!(groups(&profile, "state"), expected);
}

#[test]
fn the_innermost_function_in_ruby_has_a_package_a_file_and_a_class() {
    let stacks = "main;Shop::Order#save;String#gsub 30\nmain;Rouge::Lexer#lex 20\nmain;Set#add 10\n";
    let mut profile = format::read(stacks.as_bytes()).unwrap();
    for function in &mut profile.functions {
        let (class, path) = match function.name.as_str() {
            "Shop::Order#save" => ("Shop::Order", "/srv/app/order.rb"),
            "Rouge::Lexer#lex" => ("Rouge::Lexer", "(eval at /b/gems/rouge-3.30.0/lib/lexer.rb:3)"),
            "Set#add" => ("Set", "/usr/lib/ruby/3.1.0/set.rb"),
            "String#gsub" => ("String", "<cfunc>"),
            _ => ("", "/srv/app/main.rb"),
        };
        (function.class_name, function.path) = (class.into(), path.into());
    }
    let values = |label| {
        let by = group_by(&profile, label, SampleType::Samples).unwrap();
        by.rows.iter().map(|it| (it.name().to_owned(), it.weight)).collect::<Vec<_>>()
    };
    let expected = |names: [&str; 3]| [(names[0].into(), 30), (names[1].into(), 20), (names[2].into(), 10)];
    assert_eq!(values("gem"), expected(["(app)", "rouge", "(ruby)"]));
    assert_eq!(values("package"), expected(["(app)", "rouge", "set"]));
    assert_eq!(values("class"), expected(["Shop::Order", "Rouge::Lexer", "Set"]));
    assert_eq!(
        values("file"),
        expected(["/srv/app/order.rb", "(eval at gem:rouge/lib/lexer.rb:3)", "ruby:set.rb"])
    );
}

#[test]
fn ties_are_ordered_and_zero_weights_omitted() {
    let mut profile = example::example();
    profile.samples.truncate(4);
    for (sample, value) in profile.samples.iter_mut().zip(["b", "a", "c", "a"]) {
        sample.labels = vec![("job".into(), value.into())];
        sample.weights.set(SampleType::Cpu, if value == "c" { 0 } else { 1_000_000 });
    }
    profile.samples[0].weights.set(SampleType::Cpu, 2_000_000);
    let expected = [row("a", 2, "Shop::Order#save", 1), row("b", 2, "Shop::Order#<=>", 2)];
    assert_eq!(groups(&profile, "job"), expected);
    profile.samples.reverse();
    assert_eq!(groups(&profile, "job"), expected);
}

#[test]
fn an_unknown_label_is_reported_with_the_known_ones() {
    let mut profile = example::example();
    let error = |profile: &Profile| group_by(profile, "job\n", SampleType::Cpu).unwrap_err().to_string();
    let expected =
        "no sample has a label \"job\\n\" (there are thread, state, package, gem, file, class, endpoint)";
    assert_eq!(error(&profile), expected);
    profile.samples[0].labels.push(("a\u{1b}[31m".into(), String::new()));
    assert!(
        error(&profile).ends_with("(there are thread, state, package, gem, file, class, a [31m, endpoint)")
    );
}

fn report(profile: &Profile, text: TextOptions) -> String {
    let mut bytes = Vec::new();
    let options = Options { text, ..Options::default() };
    format::write_with(Format::Text, profile, &options, &mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    text.split_once("in all\n\n").unwrap().1.to_owned()
}

/// The example with requests of two endpoints, one of which has no sample, and all with a status.
fn with_requests() -> Profile {
    let mut profile = example::example();
    let ended = [("orders#index", "200", 20), ("orders#index", "404", 40), ("health", "200", 1)];
    for (endpoint, status, ms) in ended {
        let labels = [("endpoint", endpoint), ("status", status)];
        let labels = labels.map(|(name, value)| (name.to_owned(), Some(value.to_owned())));
        profile.requests.record(&LabelSet::EMPTY.with(labels), ms * 1_000_000);
    }
    profile
}

#[test]
fn requests_are_counted_beside_the_weights() {
    let options = TextOptions { by: Some("endpoint".into()), ..TextOptions::default() };
    let expected = [
        "         TOTAL   ENDPOINT       COUNT      MEAN   LARGEST            OF IT   MOSTLY IN                                  PLACE",
        " 807 ms  95.3%   (none)                                      401 ms  49.7%   Shop::Order#<=>                            /app/lib/shop.rb:20",
        "40.0 ms   4.7%   orders#index       2   30.0 ms   40.0 ms   40.0 ms 100.0%   #<anonymous subclass of Shop::Order>#total   /app/lib/shop.rb:80",
        "      0   0.0%   health             1   1.00 ms   1.00 ms         0   0.0%",
    ];
    let text = report(&with_requests(), options.clone());
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    for (width, has_function) in [(120, true), (104, true), (103, false), (80, false), (60, false)] {
        let narrow = report(&with_requests(), TextOptions { width: Some(width), ..options.clone() });
        assert!(narrow.lines().all(|line| line.chars().count() <= width), "{narrow}");
        assert_eq!(narrow.contains("MOSTLY IN"), has_function, "{narrow}");
        assert!(narrow.contains("30.0 ms   40.0 ms"), "{narrow}");
    }
}

#[test]
fn labels_of_requests_alone_and_groups_that_have_none() {
    let rows = |label: &str| {
        let rows = group_by(&with_requests(), label, SampleType::Cpu).unwrap().rows.into_iter();
        rows.map(|it| (it.name().to_owned(), it.requests.map(|it| it.count))).collect::<Vec<_>>()
    };
    assert_eq!(rows("status"), [("(none)".into(), None), ("200".into(), Some(2)), ("404".into(), Some(1))]);
    assert!(rows("thread").iter().chain(&rows("state")).all(|(_, requests)| requests.is_none()));
}

#[test]
fn the_report_can_be_grouped_by_a_label() {
    let text = |text: TextOptions| report(&example::example(), text);
    let options = TextOptions { by: Some("endpoint".into()), ..TextOptions::default() };
    let expected = [
        "         TOTAL   ENDPOINT                OF IT   MOSTLY IN                                  PLACE",
        " 807 ms  95.3%   (none)          401 ms  49.7%   Shop::Order#<=>                            /app/lib/shop.rb:20",
        "40.0 ms   4.7%   orders#index   40.0 ms 100.0%   #<anonymous subclass of Shop::Order>#total   /app/lib/shop.rb:80",
    ];
    assert_eq!(text(options.clone()).lines().collect::<Vec<_>>(), expected);
    let narrow = text(TextOptions { width: Some(80), limit: 1, ..options });
    assert!(narrow.ends_with("1 more value left out (limit 1)\n"), "{narrow}");
    assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
}
