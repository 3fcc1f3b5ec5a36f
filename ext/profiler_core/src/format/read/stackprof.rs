//! The reader of stackprof's JSON. Its other form, a dump, can run code of whoever wrote it, and is not read.

use std::collections::HashMap;

use serde::de::{MapAccess, Visitor};
use serde::Deserialize;

use super::json::parse;
use crate::error::Error;
use crate::format::input::{Builder, SampleKey};
use crate::ids::{FunctionId, ThreadId};
use crate::profile::{Meta, Note, Profile, SampleType, Weights};
use crate::record::State;

#[derive(Deserialize)]
struct File {
    mode: String,
    #[serde(default)]
    interval: Option<f64>,
    frames: Frames,
    #[serde(default)]
    raw: Vec<u64>,
    #[serde(default)]
    raw_lines: Vec<u64>,
    #[serde(default)]
    raw_timestamp_deltas: Vec<u64>,
}

/// The maximum number of functions.
const MAX_FUNCTIONS: usize = 4_000_000;

/// The numbers and functions, in the order of the file.
struct Frames(Vec<(String, Frame)>);

impl<'de> Deserialize<'de> for Frames {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Frames;
            fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(to, "an object of at most {MAX_FUNCTIONS} frames")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Frames, A::Error> {
                let mut frames = Vec::new();
                while let Some(frame) = map.next_entry()? {
                    if frames.len() == MAX_FUNCTIONS {
                        return Err(serde::de::Error::invalid_length(MAX_FUNCTIONS + 1, &self));
                    }
                    frames.push(frame);
                }
                Ok(Frames(frames))
            }
        }
        from.deserialize_map(Entries)
    }
}

#[derive(Deserialize)]
struct Frame {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    file: Option<String>,
    #[serde(default)]
    line: Option<u32>,
    #[serde(default)]
    samples: u64,
}

/// The unit of a sample.
struct Unit {
    of: SampleType,
    each: u64,
}

pub(super) fn read(text: &str) -> Result<Profile, Error> {
    let file: File = parse(text)?;
    let interval_us = file.interval.filter(|it| *it >= 1.0).unwrap_or(1.0) as u64;
    let unit = match file.mode.as_str() {
        "wall" => Unit { of: SampleType::Wall, each: interval_us.saturating_mul(1_000) },
        "cpu" => Unit { of: SampleType::Cpu, each: interval_us.saturating_mul(1_000) },
        "object" => Unit { of: SampleType::AllocObjects, each: interval_us },
        _ => Unit { of: SampleType::Samples, each: 1 },
    };
    let mut builder = Builder::new(text.len());
    let thread = builder.thread(0, "")?;
    let mut functions = HashMap::new();
    // A map has no order of its own, but the same file has to become the same profile.
    let mut ids: Vec<(u64, &Frame)> = Vec::new();
    for (id, frame) in &file.frames.0 {
        let number = id.parse().map_err(|_| Error::malformed(format!("a frame has the number {id:?}")))?;
        ids.push((number, frame));
    }
    ids.sort_by_key(|it| it.0);
    for (id, frame) in &ids {
        let name = frame.name.as_deref().unwrap_or("(unknown)");
        let path = frame.file.as_deref().unwrap_or_default();
        functions.insert(*id, builder.function(name, path, frame.line.unwrap_or(0))?);
    }
    let mut notes =
        vec![Note::ReadFrom { format: "stackprof's JSON, where a sample stands for one interval".into() }];
    if file.raw.is_empty() {
        notes.push(Note::Text("it was recorded without raw: true, so no function has a caller".into()));
        flat(&mut builder, &ids, &functions, &unit, thread)?;
    } else {
        raw(&mut builder, &file, &functions, &unit, thread)?;
    }
    let mode = if file.mode == "object" { "allocations" } else { &file.mode };
    let interval_ns = if unit.each > 1 && file.mode != "object" { unit.each } else { 0 };
    let meta = Meta { notes, modes: vec![mode.to_owned()], interval_ns, ..Meta::default() };
    let types =
        if unit.of == SampleType::Samples { vec![unit.of] } else { vec![SampleType::Samples, unit.of] };
    Ok(builder.finish(types, meta))
}

fn weights(unit: &Unit, samples: u64, weight: u64) -> Weights {
    let mut weights = Weights::default();
    weights.set(SampleType::Samples, samples);
    weights.set(unit.of, weight);
    weights
}

fn flat(
    builder: &mut Builder,
    ids: &[(u64, &Frame)],
    functions: &HashMap<u64, FunctionId>,
    unit: &Unit,
    thread: ThreadId,
) -> Result<(), Error> {
    for (id, frame) in ids.iter().filter(|it| it.1.samples > 0) {
        let Some(function) = functions.get(id) else { continue };
        let frame_id = builder.frame(*function, 0);
        let stack = builder.call(None, frame_id)?;
        let row = SampleKey { stack, thread, state: State::Running, labels: Vec::new() };
        builder.add(row, &weights(unit, frame.samples, frame.samples.saturating_mul(unit.each)))?;
    }
    Ok(())
}

/// Reads the stacks: for each, the number of frames, the frames, root first, and the count. Lines have the
/// same shape.
fn raw(
    builder: &mut Builder,
    file: &File,
    functions: &HashMap<u64, FunctionId>,
    unit: &Unit,
    thread: ThreadId,
) -> Result<(), Error> {
    let cut = || Error::malformed("its raw samples end in the middle of one");
    let timed = unit.of == SampleType::Wall && !file.raw_timestamp_deltas.is_empty();
    let mut deltas = file.raw_timestamp_deltas.iter();
    let mut place = 0;
    while let Some(length) = file.raw.get(place) {
        let begin = place + 1;
        let end = usize::try_from(*length).ok().and_then(|it| begin.checked_add(it)).ok_or_else(cut)?;
        let frames = file.raw.get(begin..end).ok_or_else(cut)?;
        let lines = file.raw_lines.get(begin..end).unwrap_or_default();
        let number = *file.raw.get(end).ok_or_else(cut)?;
        place = end + 1;
        let mut stack = None;
        for (depth, id) in frames.iter().enumerate() {
            let function =
                functions.get(id).ok_or_else(|| Error::malformed(format!("frame {id} does not exist")))?;
            let line = lines.get(depth).and_then(|it| u32::try_from(*it).ok()).unwrap_or(0);
            let frame = builder.frame(*function, line);
            stack = Some(builder.call(stack, frame)?);
        }
        let weight = if timed {
            let many = usize::try_from(number).unwrap_or(usize::MAX);
            let sum_us = deltas.by_ref().take(many).fold(0_u64, |sum, it| sum.saturating_add(*it));
            sum_us.saturating_mul(1_000)
        } else {
            number.saturating_mul(unit.each)
        };
        let Some(stack) = stack else { continue };
        let weights = match unit.of {
            SampleType::Samples => weights(unit, number, number),
            _ => weights(unit, number, weight),
        };
        builder.add(SampleKey { stack, thread, state: State::Running, labels: Vec::new() }, &weights)?;
    }
    Ok(())
}
