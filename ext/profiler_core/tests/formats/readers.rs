//! Files of other programs, and what only looks like one.

use profiler_core::format::read;
use profiler_core::profile::{Profile, SampleType};

use crate::hostile::gzip;

/// Stack, root first, thread, and weight of each row.
pub(crate) fn rows(profile: &Profile, of: SampleType) -> Vec<(String, String, u64)> {
    let name = |it: profiler_core::profile::Frame| profile.function(it.function).unwrap().name.clone();
    let one = |it: &profiler_core::profile::Sample| {
        let mut frames: Vec<String> = profile.frames_of(it.stack).map(name).collect();
        frames.reverse();
        (frames.join(";"), profile.threads[it.thread].name.clone(), it.weights.get(of))
    };
    profile.samples.iter().map(one).collect()
}

pub(crate) fn row(stack: &str, thread: &str, weight: u64) -> (String, String, u64) {
    (stack.into(), thread.into(), weight)
}

pub(crate) fn refusal(text: &str) -> String {
    read(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn folded_stacks() {
    let profile =
        read(b"# a remark\nmain;Foo#bar (x.rb:3) 12\n\nmain 3.7\r\nmain;Foo#bar (x.rb:3) 1\n").unwrap();
    assert_eq!(
        rows(&profile, SampleType::Samples),
        [row("main;Foo#bar (x.rb:3)", "", 13), row("main", "", 3)]
    );
    assert_eq!(read(&gzip(b"a 1\n")).unwrap().total().get(SampleType::Samples), 1);
    assert_eq!(refusal("a;b 1\na;b\n"), "a damaged profile: line 2 has no number at its end");
    assert_eq!(
        refusal("a 9223372036854775807\nb 1\n"),
        "a damaged profile: the sum of its weights is too large"
    );
}

#[test]
fn speedscope_sampled_and_evented() {
    let shared = r#""shared":{"frames":[{"name":"a"},{"name":"Foo#b","file":"/x.rb","line":3}]}"#;
    let sampled = r#"{"type":"sampled","name":"one","unit":"milliseconds","startValue":0,"endValue":3,
        "samples":[[0,1],[],[0]],"weights":[1.5,1,0.5]}"#;
    let evented = r#"{"type":"evented","name":"two","unit":"seconds","startValue":10,"endValue":14,"events":[
        {"type":"O","frame":0,"at":10},{"type":"O","frame":1,"at":11},{"type":"C","frame":1,"at":13},
        {"type":"C","frame":0,"at":14}]}"#;
    let profile = read(format!("{{{shared},\"profiles\":[{sampled},{evented}]}}").as_bytes()).unwrap();
    let expected = [
        row("a;Foo#b", "one", 1_500_000),
        row("a", "one", 500_000),
        row("a", "two", 2_000_000_000),
        row("a;Foo#b", "two", 2_000_000_000),
    ];
    assert_eq!(rows(&profile, SampleType::Wall), expected);
    let function = &profile.functions[1];
    assert_eq!(
        (function.class_name.as_str(), function.path.as_str(), function.first_line),
        ("Foo", "/x.rb", 3)
    );

    let bad = |one: &str| refusal(&format!("{{{shared},\"profiles\":[{one}]}}"));
    assert_eq!(bad(&sampled.replace("[0,1]", "[0,2]")), "a damaged profile: a frame that is not one of 2");
    assert_eq!(
        bad(&sampled.replace("1.5,", "")),
        "a damaged profile: a profile does not have one weight per sample"
    );
    assert_eq!(bad(&sampled.replace("1.5", "-1")), "a damaged profile: a sample has a negative weight");
    assert_eq!(bad(&evented.replace("13", "9")), "a damaged profile: its events are not ordered by time");
    let crossed = evented.replace(r#""C","frame":1"#, r#""C","frame":0"#);
    assert_eq!(bad(&crossed), "a damaged profile: an event closes a frame that was not opened last");
    assert_eq!(
        bad(&sampled.replace("milliseconds", "hours")),
        "a damaged profile: a profile in \"hours\", which is not a unit of speedscope"
    );
}

#[test]
fn stackprof() {
    let file = |mode: &str, more: &str| {
        format!(
            r#"{{"version":1.2,"mode":"{mode}","interval":1000,"samples":3,"frames":{{"140":{{"name":"a","file":"x.rb",
            "line":1,"samples":1,"total_samples":3}},"7":{{"name":"b","samples":2}}}},"raw":[2,140,7,2,1,140,1],
            "raw_lines":[2,5,6,2,1,7,1]{more}}}"#
        )
    };
    let of = |mode: &str, more: &str, of| rows(&read(file(mode, more).as_bytes()).unwrap(), of);
    assert_eq!(of("cpu", "", SampleType::Cpu), [row("a;b", "", 2_000_000), row("a", "", 1_000_000)]);
    let deltas = r#","raw_timestamp_deltas":[900,1200,50]"#;
    assert_eq!(of("wall", deltas, SampleType::Wall), [row("a;b", "", 2_100_000), row("a", "", 50_000)]);
    assert_eq!(of("object", "", SampleType::AllocObjects), [row("a;b", "", 2_000), row("a", "", 1_000)]);
    assert_eq!(read(file("cpu", "").as_bytes()).unwrap().frames[1].line, 6);
    let flat = file("cpu", "").replace("\"raw\":[2,140,7,2,1,140,1],", "");
    assert_eq!(
        rows(&read(flat.as_bytes()).unwrap(), SampleType::Samples),
        [row("b", "", 2), row("a", "", 1)]
    );
    let cut = file("cpu", "").replace("1,140,1]", "1,140]");
    assert_eq!(refusal(&cut), "a damaged profile: its raw samples end in the middle of one");
}

#[test]
fn rejects_formats_that_are_write_only() {
    let allowed = "pprof, a .html that profiler wrote, JSON of speedscope, stackprof, vernier, rperf or the Firefox Profiler, and folded \
        stacks are read, packed by gzip or not";
    for (text, message) in [
        (
            r#"{"meta":{},"threads":[]}"#,
            format!("a profile of Firefox that the Firefox Profiler has not saved, which cannot be read: {allowed}"),
        ),
        (r#"{"nodes":[],"samples":[]}"#, format!("a .cpuprofile, which cannot be read: {allowed}")),
        (r#"{"frames":[]}"#, format!("not a profile: {allowed}")),
        ("hello", format!("not a profile: {allowed}")),
        ("{\"a\":", "a profile that was cut short: the end of the file is missing".to_owned()),
    ] {
        assert_eq!(refusal(text), message);
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for field in ["a", "profiles", "frames"] {
        let text =
            format!("{{\"shared\":{{\"frames\":[]}},\"profiles\":[],\"{field}\":{deep},\"mode\":\"cpu\"}}");
        assert!(read(text.as_bytes()).is_err() || field != "profiles");
    }
}

/// As another program writes it: ids out of order, inlined calls, no names, units and types of its own.
#[test]
fn a_pprof_of_another_program() {
    let message = |field: u8, body: &[u8]| [&[field << 3 | 2, body.len() as u8], body].concat();
    let strings = [
        "",
        "cpu",
        "microseconds",
        "contentions",
        "count",
        "main",
        "inner",
        "thread",
        "worker",
        "delay",
        "nanoseconds",
    ];
    let mut bytes: Vec<u8> = Vec::new();
    for it in [[1, 2], [3, 4], [9, 10]] {
        bytes.extend(message(1, &[0x08, it[0], 0x10, it[1]]));
    }
    // Location 9 is `inner` inlined into `main`; 3 has only an address.
    bytes.extend(message(2, &[0x0a, 2, 3, 9, 0x12, 3, 5, 1, 70, 0x1a, 4, 0x08, 7, 0x10, 8]));
    bytes.extend(message(4, &[0x08, 9, 0x22, 4, 0x08, 40, 0x10, 3, 0x22, 2, 0x08, 30]));
    bytes.extend(message(4, &[0x08, 3, 0x18, 0x80, 0x20]));
    bytes.extend(message(5, &[0x08, 30, 0x10, 5]));
    bytes.extend(message(5, &[0x08, 40, 0x10, 6]));
    strings.iter().for_each(|it| bytes.extend(message(6, it.as_bytes())));
    let profile = read(&gzip(&bytes)).unwrap();
    assert_eq!(rows(&profile, SampleType::Cpu), [row("main;inner;0x1000", "worker", 5_000)]);
    assert_eq!(rows(&profile, SampleType::Wall)[0].2, 70);
    assert_eq!(profile.sample_types, [SampleType::Samples, SampleType::Cpu, SampleType::Wall]);
    assert_eq!(
        profile.meta.sentences()[1..],
        ["its contentions (count) is shown as samples", "its delay (nanoseconds) is shown as wall"]
    );
}
