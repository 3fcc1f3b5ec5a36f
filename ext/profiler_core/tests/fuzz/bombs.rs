//! Small files that would become much: in memory, in time, or once they are written.

use std::time::Instant;

use profiler_core::error::Error;
use profiler_core::format::{self, read, Format, Options};
use std::sync::atomic::Ordering::Relaxed;

use super::{gzip, LONGEST, MAX_BYTES, NOW, PEAK, TURN};

/// A field of protobuf with a content.
fn field(number: u64, content: &[u8]) -> Vec<u8> {
    [varint(number << 3 | 2), varint(content.len() as u64), content.to_vec()].concat()
}

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// Returns a pprof of another program: one function that is inlined into itself `lines` times, with a name of
/// `length` bytes. There are `samples` samples of it with `labels` labels each.
pub(crate) fn foreign(lines: usize, samples: usize, labels: usize, length: usize) -> Vec<u8> {
    let name = "n".repeat(length);
    let strings = ["", "cpu", "ns", &name].map(|it| field(6, it.as_bytes())).concat();
    let function = field(5, &[8, 1, 16, 3]);
    let location = field(4, &[&[8, 1][..], &field(4, &[8, 1]).repeat(lines)].concat());
    let label = field(3, &[8, 3, 16, 3]).repeat(labels);
    let sample = field(2, &[&field(1, &[1]), &field(2, &[1]), &label[..]].concat()).repeat(samples);
    [field(1, &[8, 1, 16, 2]), strings, function, location, sample].concat()
}

/// Returns such a pprof with `number` functions of that name.
fn functions(number: u64, length: usize) -> Vec<u8> {
    let more = (2..number).map(|id| field(5, &[&[8][..], &varint(id), &[16, 3]].concat()));
    [foreign(1, 1, 0, length), more.collect::<Vec<_>>().concat()].concat()
}

/// Sample types of a long name, of which few have a place.
fn sample_types(number: usize, length: usize) -> Vec<u8> {
    [foreign(1, 1, 0, length), field(1, &[8, 3, 16, 3]).repeat(number)].concat()
}

/// Ever deeper stacks, of which each is one row more.
fn opening(depth: usize) -> Vec<u8> {
    let event = |kind: &str, at: usize| format!(r#"{{"type":"{kind}","frame":0,"at":{at}}}"#);
    let opens = (0..depth).map(|it| event("O", it));
    let closes = (depth..2 * depth).map(|it| event("C", it));
    let events: Vec<String> = opens.chain(closes).collect();
    let events = events.join(",");
    format!(
        r#"{{"shared":{{"frames":[{{"name":"a"}}]}},"profiles":[{{"type":"evented","events":[{events}]}}]}}"#
    )
    .into_bytes()
}

/// A file for the Firefox Profiler: `functions` of one name, each called by the one before, and a sample of
/// each.
fn processed(functions: usize, length: usize) -> Vec<u8> {
    let name = "n".repeat(length);
    let all = |of: &dyn Fn(usize) -> String| (0..functions).map(of).collect::<Vec<_>>().join(",");
    let places = all(&|it| it.to_string());
    let callers = all(&|it| it.checked_sub(1).map_or("null".into(), |it| it.to_string()));
    let names = all(&|_| "0".into());
    format!(
        r#"{{"meta":{{"preprocessedProfileVersion":48}},"threads":[{{"samples":{{"stack":[{places}]}},
        "stackTable":{{"frame":[{places}],"prefix":[{callers}]}},"frameTable":{{"func":[{places}]}},
        "funcTable":{{"name":[{names}],"lineNumber":[{places}]}},"stringArray":["{name}"]}}]}}"#
    )
    .into_bytes()
}

/// A file of rperf: `samples` of one set of labels, with a value of `length` bytes.
fn labelled(samples: usize, length: usize) -> Vec<u8> {
    let sample = r#"[[["a","b"]],1,1,0],"#.repeat(samples);
    let value = "n".repeat(length);
    format!(r#"{{"mode":"cpu","raw_samples":[{sample}[[],1]],"label_sets":[{{"a":"{value}"}}]}}"#)
        .into_bytes()
}

fn refusal(bytes: &[u8]) -> (String, usize) {
    PEAK.store(NOW.load(Relaxed), Relaxed);
    let began = Instant::now();
    let outcome = read(bytes).map(|it| it.samples.len()).unwrap_err().to_string();
    assert!(began.elapsed() < LONGEST, "{outcome} took {:?}", began.elapsed());
    (outcome, PEAK.load(Relaxed))
}

#[test]
fn repeated_names_count_against_the_budget() {
    let _turn = TURN.lock();
    let frames = "a damaged profile: its stacks have too many frames for";
    let texts = "a damaged profile: its names and labels are too long together for";
    for (bomb, expected) in [
        (foreign(20_000, 20_000, 0, 1), frames),
        (foreign(90_000, 90_000, 0, 1), frames),
        (opening(20_000), frames),
        (processed(20_000, 1), frames),
        (processed(2_000, 1 << 20), texts),
        (labelled(20_000, 1 << 20), texts),
        (foreign(1, 10, 100, 1 << 20), texts),
        (foreign(1, 20_000, 1, 1 << 20), texts),
        (functions(20_000, 1 << 20), texts),
        (sample_types(900, 1 << 20), texts),
        (sample_types(5_000, 1), "a damaged profile: it has more than 1000 sample types"),
    ] {
        let (outcome, most) = refusal(&gzip(&bomb));
        assert!(outcome.starts_with(expected), "{outcome}");
        assert!(most < 512 << 20, "{outcome} took {most} bytes");
    }
}

#[test]
fn accepts_legitimate_inlining_and_labels() {
    let _turn = TURN.lock();
    let profile = read(&foreign(40, 1_000, 8, 200)).unwrap();
    assert_eq!((profile.stacks.len(), profile.samples.len()), (40, 1));
}

/// A stack takes a byte for each frame, and a line of text its name.
#[test]
fn text_size_is_checked_before_rendering() {
    let _turn = TURN.lock();
    let (name, frames) = ("n".repeat(1 << 20), 90_000);
    let profile = read(&foreign(frames, 1, 0, name.len())).unwrap();
    for format in [Format::Folded, Format::Svg] {
        PEAK.store(NOW.load(Relaxed), Relaxed);
        let written = format::write_with(format, &profile, &Options::default(), &mut std::io::sink());
        assert!(matches!(written, Err(Error::TooLong { .. })), "{written:?}");
        assert!(PEAK.load(Relaxed) < 512 << 20);
    }
}

#[test]
fn bombs() {
    let _turn = TURN.lock();
    let many = 64 << 20;
    let message = |it: &[u8]| it.repeat(many / it.len());
    let text = |begin: &str, it: &str, end: &str| {
        format!("{begin}{}{end}", it.repeat(many / 4 / it.len())).into_bytes()
    };
    let numbered = |begin: &str, it: &str, end: &str| {
        let items: Vec<String> = (0..5_000_000).map(|number| it.replace('$', &number.to_string())).collect();
        format!("{begin}{}{end}", items.join(",")).into_bytes()
    };
    for (name, bomb) in [
        ("zeros", vec![0; 257 << 20]),
        ("samples", message(&[0x12, 0])),
        ("labels", [&[0x12, 0x80, 0x80, 0x80, 32][..], &message(&[0x1a, 0])].concat()),
        ("lines", message(&[0x22, 2, 0x22, 0])),
        ("strings", [&[0x0a, 0][..], &message(&[0x32, 0])].concat()),
        ("brackets", text("{\"profiles\":", "[", "")),
        (
            "stacks",
            text(
                "{\"shared\":{\"frames\":[]},\"profiles\":[{\"type\":\"sampled\",\"samples\":[[]",
                ",[]",
                "],\"weights\":[]}]}",
            ),
        ),
        ("fields", numbered("{", r#""$":0"#, "}")),
        ("frames", numbered(r#"{"mode":"cpu","frames":{"#, r#""$":{}"#, "}}")),
        (
            "profiles",
            text(r#"{"shared":{"frames":[]},"profiles":[{"type":"sampled"}"#, r#",{"type":"sampled"}"#, "]}"),
        ),
        ("raw", text("{\"mode\":\"cpu\",\"frames\":{\"1\":{\"name\":\"a\"}},\"raw\":[1", ",1", "]}")),
        ("places", text(r#"{"meta":{},"threads":[{"samples":{"stack":[1"#, ",1", "]}}]}")),
        ("numbers", text(r#"{"meta":{},"threads":[{"samples":{"stack":[],"time":[1"#, ",1", "]}}]}")),
        ("texts", text(r#"{"meta":{},"threads":[],"shared":{"stringArray":[""#, r#"",""#, "\"]}}")),
        (
            "threads",
            text(r#"{"meta":{},"threads":[{"samples":{"stack":[]}}"#, r#",{"samples":{"stack":[]}}"#, "]}"),
        ),
        ("metadata", text(r#"{"threads":[],"meta":{"vernierUserMetadata":{"":1"#, r#","":1"#, "}}}")),
        ("sets", text(r#"{"mode":"cpu","raw_samples":[[[["a","b"]],-1]],"label_sets":[{}"#, ",{}", "]}")),
        (
            "pairs",
            text(r#"{"mode":"cpu","raw_samples":[[[["a","b"]],-1]],"label_sets":[{"":1"#, r#","":1"#, "}]}"),
        ),
        ("functions", numbered(r#"{"mode":"cpu","raw_samples":[[["#, r#"["","$"]"#, "],1]]}")),
        ("frameless", text(r#"{"mode":"cpu","raw_samples":[[[],1]"#, ",[[],1]", "]}")),
        ("deep", text("a", ";a", " 1")),
        ("deep and wide", text("a 1\n", "b;c 1\na;b;c;d;e;f;g 1\n", "")),
    ] {
        PEAK.store(NOW.load(Relaxed), Relaxed);
        let began = Instant::now();
        let packed = gzip(&bomb);
        drop(bomb);
        PEAK.store(NOW.load(Relaxed), Relaxed);
        let outcome = read(&packed).map(|it| it.samples.len()).map_err(|it| it.to_string());
        let most = PEAK.load(Relaxed);
        println!(
            "{name}: {} KiB packed, {} MiB taken, {:?}: {outcome:?}",
            packed.len() >> 10,
            most >> 20,
            began.elapsed()
        );
        assert!(most < MAX_BYTES, "{name} took {most} bytes");
        // Large, and profiles all the same: one stack or none millions of times, and few stacks on millions
        // of lines.
        assert_eq!(outcome.is_ok(), ["raw", "frameless", "deep and wide"].contains(&name), "{name}");
    }
}
