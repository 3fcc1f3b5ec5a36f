//! The format of stackprof, as JSON, for its own command and for viewers that support it.
//!
//! The format counts samples of one interval. Here a sample is a microsecond or, in `object`, an object. In
//! `wall`, each sample has a time of its own in the file, so the interval there is long enough for at most a
//! quarter of a million samples. Shares are exact, and sums to within one sample.

use std::collections::{BTreeMap, HashSet};
use std::io::{BufWriter, Write};

use serde_json::{json, Map, Value};

use super::display::clean_name;
use super::json_out::{comma, numbers};
use super::sample_series::SampleSeries;
use super::Options;
use crate::error::Error;
use crate::ids::{FunctionId, Id, StackId};
use crate::profile::{Frame, Function, Profile, SampleType};
use crate::record::State;

/// The version of stackprof's results.
const VERSION: f64 = 1.2;

/// The maximum number of samples in `wall`, where each one has a number in the file.
const MAX_TIMED_SAMPLES: u64 = 250_000;

/// Writes the file.
///
/// # Errors
/// Returns [`Error::Io`] if `out` fails, and [`Error::NotMeasured`] if the profile lacks the requested sample
/// type.
pub fn write(profile: &Profile, options: &Options, out: &mut dyn Write) -> Result<(), Error> {
    let of = options.sample_type_of(profile)?;
    let total = profile.total().get(of);
    let is_time = of.name_and_unit().1 == "nanoseconds";
    let timed = is_time && of != SampleType::Cpu;
    // The size of a sample, in the unit of the sample type.
    let unit = match (is_time, timed) {
        (_, true) => 1_000 * (total / 1_000).div_ceil(MAX_TIMED_SAMPLES).max(1),
        (true, _) => 1_000,
        _ => 1,
    };
    let mut runs: Vec<(StackId, u64)> = Vec::new();
    let mut ticks = vec![0_u64; profile.stacks.len()];
    let mut rest = 0;
    SampleSeries::of(profile).each(|share| {
        let Some(sample) = profile.samples.get(share.row.index()) else { return };
        rest += share.weights.get(of);
        let number = rest / unit;
        rest %= unit;
        match runs.last_mut() {
            _ if number == 0 => {}
            Some((last, sum)) if *last == sample.stack => *sum += number,
            _ => runs.push((sample.stack, number)),
        }
        ticks.get_mut(sample.stack.index()).into_iter().for_each(|it| *it += number);
    });
    let samples: u64 = runs.iter().map(|it| it.1).sum();
    let in_gc = profile.samples.iter().filter(|it| it.state == State::Gc);
    let gc_samples = in_gc.fold(0_u64, |sum, it| sum.saturating_add(it.weights.get(of))) / unit;
    let mode = match of {
        SampleType::Cpu => "cpu",
        _ if is_time => "wall",
        _ => "object",
    };
    let interval = if is_time { unit / 1_000 } else { 1 };

    let mut out = BufWriter::with_capacity(1 << 16, out);
    write!(out, r#"{{"version":{VERSION},"mode":"{mode}","interval":{interval},"samples":{samples},"#)?;
    write!(out, r#""gc_samples":{gc_samples},"missed_samples":0,"metadata":"#)?;
    value(&mut out, &profile.meta.user)?;
    write!(out, r#","frames":"#)?;
    value(&mut out, &frames(profile, &ticks))?;
    raw(&mut out, "raw", profile, &runs, |frame| frame.function.0 + 1)?;
    raw(&mut out, "raw_lines", profile, &runs, |frame| frame.line)?;
    if timed {
        write!(out, r#","raw_timestamp_deltas":["#)?;
        numbers(&mut out, (0..samples).map(|_| interval))?;
        write!(out, "]")?;
    }
    writeln!(out, "}}")?;
    Ok(out.flush()?)
}

fn value(out: &mut impl Write, value: &impl serde::Serialize) -> Result<(), Error> {
    Ok(serde_json::to_writer(out, value).map_err(std::io::Error::from)?)
}

/// Writes the stacks in chronological order: for each, the number of frames, `of` each frame, root first, and
/// the count.
fn raw(
    out: &mut impl Write,
    name: &str,
    profile: &Profile,
    runs: &[(StackId, u64)],
    of: impl Fn(Frame) -> u32,
) -> Result<(), Error> {
    let mut texts: Vec<Option<Box<str>>> = vec![None; profile.stacks.len()];
    write!(out, r#","{name}":["#)?;
    for (place, (stack, number)) in runs.iter().enumerate() {
        let Some(slot) = texts.get_mut(stack.index()) else { continue };
        let text = slot.get_or_insert_with(|| {
            let mut frames: Vec<String> = profile.frames_of(*stack).map(|it| of(it).to_string()).collect();
            frames.push(frames.len().to_string());
            frames.reverse();
            frames.join(",").into()
        });
        out.write_all(comma(place).as_bytes())?;
        out.write_all(text.as_bytes())?;
        write!(out, ",{number}")?;
    }
    Ok(write!(out, "]")?)
}

#[derive(Clone, Default)]
struct Row {
    total: u64,
    own: u64,
    edges: BTreeMap<FunctionId, u64>,
    /// The total and own weights, by line.
    lines: BTreeMap<u32, (u64, u64)>,
}

/// Returns the sums of each function by its number. A stack that contains the function several times counts
/// once.
fn frames(profile: &Profile, ticks: &[u64]) -> Map<String, Value> {
    let mut rows: Vec<Row> = vec![Row::default(); profile.functions.len()];
    let mut seen = HashSet::new();
    for (place, number) in ticks.iter().enumerate().filter(|(_, number)| **number > 0) {
        seen.clear();
        let mut callee = None;
        for frame in profile.frames_of(StackId::from_index(place)) {
            let Some(row) = rows.get_mut(frame.function.index()) else { continue };
            let line = row.lines.entry(frame.line).or_default();
            if seen.insert(frame.function) {
                row.total += number;
                line.0 += number;
            }
            match callee.replace(frame.function) {
                Some(callee) => *row.edges.entry(callee).or_default() += number,
                None => {
                    row.own += number;
                    line.1 += number;
                }
            }
        }
    }
    let named = rows.iter().zip(&profile.functions).enumerate().filter(|(_, (row, _))| row.total > 0);
    named.map(|(place, (row, function))| ((place + 1).to_string(), frame(row, function))).collect()
}

fn frame(row: &Row, function: &Function) -> Value {
    let edges: BTreeMap<String, u64> =
        row.edges.iter().map(|(id, number)| ((id.0 + 1).to_string(), *number)).collect();
    let lines: BTreeMap<String, (u64, u64)> =
        row.lines.iter().map(|(line, both)| (line.to_string(), *both)).collect();
    json!({
        "name": clean_name(function),
        "file": function.path,
        "line": (function.first_line > 0).then_some(function.first_line),
        "total_samples": row.total,
        "samples": row.own,
        "edges": edges,
        "lines": lines,
    })
}
