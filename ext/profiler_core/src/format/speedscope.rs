//! The format of speedscope.app: one profile for each thread and sample type, in chronological order.
//!
//! A frame is a function with the line where it is defined: with executed lines, one function would be many
//! frames. Equal consecutive stacks are one entry. Weights are whole numbers in the unit of the sample type.

use std::cmp::Reverse;
use std::io::{BufWriter, Write};

use super::display::clean_name;
use super::json_out::{comma, json, numbers};
use super::sample_series::SampleSeries;
use super::{length, threads, Options};
use crate::error::Error;
use crate::ids::{FunctionId, Id, StackId};
use crate::profile::{Frame, Profile, SampleType};

/// The address that identifies the format.
pub(super) const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

/// The separator between the thread and the sample type in the name of a profile.
pub(super) const BETWEEN: &str = " - ";

/// The prefix of the exporter's name in files that profiler writes.
pub(super) const EXPORTER: &str = "profiler@";

/// Writes the file with all sample types, or with the requested one.
///
/// # Errors
/// Returns [`Error::Io`] if `out` fails, [`Error::NotMeasured`] if the profile lacks the requested sample
/// type, and [`Error::TooLong`].
pub fn write(profile: &Profile, options: &Options, out: &mut dyn Write) -> Result<(), Error> {
    let default = options.sample_type_of(profile)?;
    let mut types = vec![default];
    if options.sample_type.is_none() {
        types.extend(profile.sample_types.iter().filter(|it| **it != default));
    }
    let mut out = BufWriter::with_capacity(1 << 16, out);
    write!(out, r#"{{"$schema":"{SCHEMA}","shared":{{"frames":["#)?;
    let order = by_use(profile);
    let functions = order.iter().filter_map(|it| profile.function(*it));
    for (place, function) in functions.enumerate() {
        write!(out, "{}{{\"name\":", comma(place))?;
        json(&mut out, &clean_name(function))?;
        if !function.path.is_empty() {
            write!(out, r#","file":"#)?;
            json(&mut out, &function.path)?;
        }
        if function.first_line > 0 {
            write!(out, r#","line":{}"#, function.first_line)?;
        }
        write!(out, "}}")?;
    }
    write!(out, r#"]}},"profiles":["#)?;

    let names = threads::names(profile);
    let series = SampleSeries::of(profile);
    let mut stacks = Stacks::new(profile, &order);
    let busy = threads::busy(profile, default);
    let (mut written, mut active) = (0, (0, (0, 0)));
    for of in types {
        for ((name, busy), entries) in names.iter().zip(&busy).zip(entries(profile, &series, of)) {
            if entries.is_empty() {
                continue;
            }
            let total = entries.iter().fold(0_u64, |sum, (_, weight)| sum.saturating_add(*weight));
            if of == default && (*busy, total) > active.1 {
                active = (written, (*busy, total));
            }
            write!(out, "{}", comma(written))?;
            one(
                &mut out,
                &format!("{name}{BETWEEN}{}", of.name_and_unit().0),
                of,
                total,
                &entries,
                &mut stacks,
            )?;
            written += 1;
        }
    }
    write!(
        out,
        r#"],"activeProfileIndex":{},"exporter":"{EXPORTER}{}","name":"#,
        active.0,
        env!("CARGO_PKG_VERSION")
    )?;
    json(&mut out, &options.title_or(profile, default))?;
    writeln!(out, "}}")?;
    Ok(out.flush()?)
}

/// Returns the functions, starting with those in the most rows: a file can contain a million stacks, and
/// these functions get the shortest numbers.
fn by_use(profile: &Profile) -> Vec<FunctionId> {
    let mut uses = vec![0_u64; profile.functions.len()];
    for frame in profile.samples.iter().flat_map(|it| profile.frames_of(it.stack)) {
        uses.get_mut(frame.function.index()).into_iter().for_each(|it| *it += 1);
    }
    let mut order: Vec<usize> = (0..uses.len()).collect();
    order.sort_by_key(|place| Reverse(uses.get(*place).copied()));
    order.into_iter().map(FunctionId::from_index).collect()
}

/// Returns the stacks of each thread in chronological order; equal neighbours are merged.
fn entries(profile: &Profile, series: &SampleSeries<'_>, of: SampleType) -> Vec<Vec<(StackId, u64)>> {
    let mut threads: Vec<Vec<(StackId, u64)>> = vec![Vec::new(); profile.threads.len()];
    series.each(|share| {
        let weight = share.weights.get(of);
        let Some(sample) = profile.samples.get(share.row.index()).filter(|_| weight > 0) else { return };
        let Some(entries) = threads.get_mut(sample.thread) else { return };
        match entries.last_mut() {
            Some((stack, sum)) if *stack == sample.stack => *sum = sum.saturating_add(weight),
            _ => entries.push((sample.stack, weight)),
        }
    });
    threads
}

fn one(
    out: &mut impl Write,
    name: &str,
    of: SampleType,
    total: u64,
    entries: &[(StackId, u64)],
    stacks: &mut Stacks<'_>,
) -> Result<(), Error> {
    let unit = match of.name_and_unit().1 {
        "count" => "none",
        unit => unit,
    };
    write!(out, r#"{{"type":"sampled","name":"#)?;
    json(out, name)?;
    write!(out, r#","unit":"{unit}","startValue":0,"endValue":{total},"samples":["#)?;
    let mut length = 0_u64;
    for (place, (stack, _)) in entries.iter().enumerate() {
        let text = stacks.text(*stack);
        length += text.len() as u64;
        length::check(std::iter::once(length), length::IN_A_FILE)?;
        out.write_all(comma(place).as_bytes())?;
        out.write_all(text.as_bytes())?;
    }
    write!(out, r#"],"weights":["#)?;
    numbers(out, entries.iter().map(|(_, weight)| *weight))?;
    Ok(write!(out, "]}}")?)
}

/// The stacks in the form that the file has, each built once.
struct Stacks<'profile> {
    profile: &'profile Profile,
    /// The numbers that functions have in the file, by index.
    numbers: Vec<usize>,
    texts: Vec<Option<Box<str>>>,
}

impl<'profile> Stacks<'profile> {
    fn new(profile: &'profile Profile, order: &[FunctionId]) -> Self {
        let mut numbers = vec![0; order.len()];
        for (number, id) in order.iter().enumerate() {
            numbers.get_mut(id.index()).into_iter().for_each(|it| *it = number);
        }
        Self { profile, numbers, texts: vec![None; profile.stacks.len()] }
    }

    fn text(&mut self, stack: StackId) -> &str {
        let Some(slot) = self.texts.get_mut(stack.index()) else { return "[]" };
        slot.get_or_insert_with(|| {
            let number = |it: Frame| self.numbers.get(it.function.index()).map(usize::to_string);
            let mut frames: Vec<String> = self.profile.frames_of(stack).filter_map(number).collect();
            frames.reverse();
            format!("[{}]", frames.join(",")).into()
        })
    }
}
