//! The reader of rperf's own JSON, which `rperf record` writes.

mod labels;
mod samples;

use serde::Deserialize;

use super::json::parse;
use crate::error::Error;
use crate::format::input::{Builder, SampleKey};
use crate::ids::{FrameId, Id, ThreadId};
use crate::profile::{Function, Meta, Note, Profile, SampleType, Weights};
use crate::record::State;
use labels::{RowLabels, RperfLabels};
use samples::{PathAndName, RperfSamples};

/// The path that rperf writes for a function without a file.
const NO_FILE: &str = "<C method>";

#[derive(Deserialize)]
struct File<'text> {
    mode: String,
    #[serde(default)]
    frequency: Option<u64>,
    #[serde(borrow, default)]
    aggregated_samples: Option<RperfSamples<'text>>,
    #[serde(borrow, default)]
    raw_samples: Option<RperfSamples<'text>>,
    #[serde(default)]
    label_sets: Option<RperfLabels>,
    #[serde(default)]
    start_time_ns: Option<u64>,
    #[serde(default)]
    duration_ns: Option<u64>,
    #[serde(default)]
    pid: Option<u32>,
    #[serde(default)]
    process_count: Option<u64>,
    #[serde(default)]
    dropped_samples: Option<u64>,
    #[serde(default)]
    dropped_aggregation: Option<u64>,
}

pub(super) fn read(text: &str) -> Result<Profile, Error> {
    let file: File<'_> = parse(text)?;
    let of = match file.mode.as_str() {
        "cpu" => SampleType::Cpu,
        "wall" => SampleType::Wall,
        other => return Err(Error::malformed(format!("the mode {other:?} (allowed: cpu, wall)"))),
    };
    let mut builder = Builder::new(text.len());
    let none = RperfSamples::default();
    // A file can have both, with the same samples.
    let samples = file.aggregated_samples.as_ref().or(file.raw_samples.as_ref()).unwrap_or(&none);
    let label_sets = file.label_sets.as_ref();
    let no_labels = RperfLabels::default();
    let label_sets = label_sets.unwrap_or(&no_labels);
    let frames = frames(samples.functions(), &mut builder)?;
    let mut types = vec![of];
    let mut collected = false;
    for (row, functions) in samples.each() {
        let mut stack = None;
        for function in functions.iter().rev() {
            let frame = frames.get(function.index()).copied();
            stack = Some(
                builder.call(stack, frame.ok_or_else(|| Error::malformed("a frame that does not exist"))?)?,
            );
        }
        let less = |_| Error::malformed("a sample has a negative weight");
        let weight = u64::try_from(row.weight).map_err(less)?;
        let Some(stack) = stack else { continue };
        let RowLabels { state, labels } = label_sets.labels(row.label_set, row.state, &mut builder.budget)?;
        collected |= state == State::Gc;
        let thread = thread(row.thread, &mut builder)?;
        let mut weights = Weights::default();
        weights.set(of, weight);
        let part = match (of, state) {
            (SampleType::Wall, State::Gvl) => Some(SampleType::GvlWait),
            (SampleType::Wall, State::Gc) => Some(SampleType::Gc),
            _ => None,
        };
        if let Some(part) = part {
            weights.set(part, weight);
            if !types.contains(&part) {
                types.push(part);
            }
        }
        builder.add(SampleKey { stack, thread, state, labels }, &weights)?;
    }
    let notes = notes(&file, of == SampleType::Cpu && collected);
    let meta = Meta {
        modes: vec![file.mode],
        interval_ns: file.frequency.and_then(|it| 1_000_000_000_u64.checked_div(it)).unwrap_or(0),
        started_at_ns: file.start_time_ns.unwrap_or(0),
        duration_ns: file.duration_ns.unwrap_or(0),
        pid: file.pid.unwrap_or(0),
        notes,
        ..Meta::default()
    };
    Ok(builder.finish(types, meta))
}

/// Returns a thread by its number, from 1; 0 is unknown.
fn thread(number: u32, builder: &mut Builder) -> Result<ThreadId, Error> {
    match number {
        0 => builder.thread(0, ""),
        _ => builder.thread(u64::from(number), &format!("thread {number}")),
    }
}

fn frames(functions: &[PathAndName<'_>], builder: &mut Builder) -> Result<Vec<FrameId>, Error> {
    let mut frames = Vec::with_capacity(functions.len());
    for (path, name) in functions {
        let name = if name.is_empty() { "(unknown)" } else { name };
        let path = if path == NO_FILE { Function::CFUNC } else { path };
        let function = builder.function(name, path, 0)?;
        frames.push(builder.frame(function, 0));
    }
    Ok(frames)
}

fn notes(file: &File<'_>, wall_in_cpu: bool) -> Vec<Note> {
    let mut notes =
        vec![Note::ReadFrom { format: "rperf's JSON, which has no lines and no names of threads".into() }];
    let mut add = |text: String| notes.push(Note::Text(text));
    if wall_in_cpu {
        add(
            "rperf measures garbage collection in wall clock time; it is counted as cpu here, as in the file"
                .into(),
        );
    }
    if file.process_count.is_some_and(|it| it > 1) {
        add("several processes use the same thread numbers: a thread shown here is the sum of the threads with that number (--by %pid separates the processes)".into());
    }
    let dropped = [file.dropped_samples, file.dropped_aggregation].into_iter().flatten();
    let dropped = dropped.fold(0, u64::saturating_add);
    if dropped > 0 {
        add(format!("rperf dropped {}", crate::text::units::counted(dropped, "sample")));
    }
    notes
}
