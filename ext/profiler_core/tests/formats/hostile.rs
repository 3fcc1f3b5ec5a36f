//! Files that are not what they say. Reading them returns an error or a profile, never a panic.

use std::io::Write;

use flate2::{write::GzEncoder, Compression};
use profiler_core::error::Error;
use profiler_core::format::read;
use profiler_core::format::{self, Format};
use profiler_core::profile::Profile;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::example::example;
use crate::pprof::{packed, profiles};
use crate::wire;

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

fn refusal(bytes: &[u8]) -> String {
    read(bytes).unwrap_err().to_string()
}

fn write_all(profile: &Profile) {
    for format in Format::all() {
        match format::write(format, profile, &mut Vec::new()) {
            // Which a profile of allocations has not.
            Err(Error::NotMeasured { requested: "time", .. }) if format == Format::Cpuprofile => {}
            result => result.unwrap(),
        }
    }
}

/// Whether XML may hold the character at all, escaped or not.
fn is_xml(it: char) -> bool {
    matches!(it, '\t' | '\n' | '\r') || (it >= ' ' && !matches!(it, '\u{fffe}' | '\u{ffff}'))
}

#[test]
fn rejects_other_files_with_a_reason() {
    let nothing = "not a profile: pprof, a .html that profiler wrote, JSON of speedscope, stackprof, vernier, rperf or the Firefox \
        Profiler, and folded stacks are read, packed by gzip or not";
    for bytes in [&b""[..], b"\x1f", b"hello", b"{\"frames\": []}", &gzip(b""), &gzip(b"hello")] {
        assert_eq!(refusal(bytes), nothing);
    }
    // A sample type and the strings: all that a pprof needs.
    let foreign = b"\x0a\x04\x08\x01\x10\x02\x32\x00\x32\x01a\x32\x01b";
    assert_eq!(read(foreign).unwrap(), read(&gzip(foreign)).unwrap());
    // The same and field 5201, which says version 7, and later fields in a form that we do not know.
    let newer = [&foreign[..], b"\x88\xc5\x02\x07\x95\xc5\x02"].concat();
    assert!(matches!(read(&newer), Err(Error::NotAProfile)), "cut in a field");
    assert_eq!(
        refusal(&[&newer[..], &[0; 4]].concat()),
        "written by a newer profiler (format version 7; this one reads up to 1)"
    );
}

#[test]
fn detects_truncation_at_every_byte() {
    let bytes = packed(&example());
    for length in 2..bytes.len() {
        assert!(matches!(read(&bytes[..length]), Err(Error::Truncated)), "at {length}");
    }
    let plain = wire::unpack(&bytes);
    (0..plain.len()).for_each(|length| assert!(read(&plain[..length]).is_err(), "unpacked, at {length}"));
}

#[test]
fn detects_flipped_bits() {
    let bytes = packed(&example());
    // The first ten are the header of gzip, of which not all matters.
    for place in 10..bytes.len() {
        let mut bytes = bytes.clone();
        bytes[place] ^= 1;
        // It may point to the same text elsewhere.
        let same = || read(&bytes).is_ok_and(|it| it == read(&packed(&example())).unwrap());
        assert!(read(&bytes).is_err() || same(), "at {place} of {}", bytes.len());
    }
}

proptest! {
    #![proptest_config(crate::config())]

    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
        // Bytes can be text, and text a folded stack.
        let folded = std::str::from_utf8(&bytes).is_ok_and(|it| it.contains(' '));
        prop_assert!(read(&bytes).is_err() || folded);
        prop_assert!(read(&gzip(&bytes)).is_err() || folded);
    }

    /// Unpacked, so that no checksum stands before the checks.
    #[test]
    fn mutated_files_never_panic(
        (profile, _) in profiles(),
        changes in prop::collection::vec((any::<Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = wire::unpack(&packed(&profile));
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Ok(profile) = read(&bytes) {
            write_all(&profile);
        }
    }

    #[test]
    fn every_format_escapes_names((profile, _) in profiles()) {
        write_all(&profile);
        let mut svg = Vec::new();
        format::write(Format::Svg, &profile, &mut svg).unwrap();
        let svg = String::from_utf8(svg).unwrap();
        prop_assert!(svg.chars().all(is_xml));
        prop_assert_eq!(svg.matches('<').count(), svg.matches("</").count() + openings(&svg));

        let mut folded = Vec::new();
        format::write(Format::Folded, &profile, &mut folded).unwrap();
        for line in String::from_utf8(folded).unwrap().lines() {
            let (stack, weight) = line.rsplit_once(' ').unwrap();
            prop_assert!(weight.parse::<u64>().is_ok());
            prop_assert!(stack.split(';').all(|frame| !frame.is_empty() && frame.trim() == frame));
        }
    }
}

/// How many `<` begin something that the picture's maker writes, or stand in its script.
fn openings(svg: &str) -> usize {
    let script = svg.split_once("<script").and_then(|it| it.1.split_once("</script>")).map_or("", |it| it.0);
    let own =
        ["<?xml", "<!DOCTYPE", "<!--", "<svg", "<defs", "<linearGradient", "<stop", "<style", "<script"];
    let own = own.into_iter().chain(["<rect", "<text", "<g>", "<g ", "<title>"]);
    own.map(|it| svg.matches(it).count()).sum::<usize>() + script.matches('<').count()
        - script.matches("</").count()
}
