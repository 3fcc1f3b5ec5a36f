//! The processed-profile format of the Firefox Profiler: threads with their samples over time, markers,
//! counters, allocations.
//!
//! Version 48 is intentional: every later front end upgrades it, while an older one would refuse a newer
//! file. A sample has its weight and the CPU time of its thread, so that running and waiting are
//! distinguished at a glance.

mod counters;
mod meta;
mod table;
mod thread;

use std::io::{BufWriter, Write};

use super::json_out::{comma, json, number};
use super::sample_series::SampleSeries;
use super::{threads, Options};
use crate::error::Error;
use crate::ids::Id;
use crate::profile::{Profile, SampleType};
use thread::ThreadTables;

/// Writes the file.
///
/// # Errors
/// Returns [`Error::Io`] if `out` fails, and [`Error::NotMeasured`] if the profile lacks the requested sample
/// type.
pub fn write(profile: &Profile, options: &Options, out: &mut dyn Write) -> Result<(), Error> {
    let of = options.sample_type_of(profile)?;
    let names = threads::names(profile);
    let mut rows: Vec<ThreadTables<'_>> =
        names.iter().map(|name| ThreadTables::new(profile, of, name)).collect();
    let mut counters = counters::CounterTracks::new(profile);
    // The index of each row's stack in the table of its thread, once it is there.
    let mut stacks: Vec<Option<usize>> = vec![None; profile.samples.len()];
    SampleSeries::of(profile).each(|share| {
        let place = share.row.index();
        let (Some(sample), Some(stack)) = (profile.samples.get(place), stacks.get_mut(place)) else { return };
        if let Some(thread) = rows.get_mut(sample.thread) {
            thread.add(sample, &share, stack);
        }
        counters.add(&share);
    });
    for marker in &profile.markers {
        let place = profile.threads.iter().position(|it| *it == marker.thread).unwrap_or(0);
        if let Some(thread) = rows.get_mut(place) {
            thread.mark(marker);
        }
    }
    // The front end requires at least one thread.
    if rows.is_empty() {
        rows.push(ThreadTables::new(profile, of, "main"));
    }

    let mut out = BufWriter::with_capacity(1 << 16, out);
    write!(out, r#"{{"meta":"#)?;
    meta::write(profile, of, &options.title_or(profile, of), &rows, &mut out)?;
    write!(out, r#","libs":[],"counters":["#)?;
    counters.write(&mut out)?;
    write!(out, r#"],"threads":["#)?;
    for (place, thread) in rows.iter().enumerate() {
        write!(out, "{}", comma(place))?;
        thread.write(place, &mut out)?;
    }
    writeln!(out, "]}}")?;
    Ok(out.flush()?)
}

/// Writes nanoseconds as milliseconds, the unit of the format.
fn ms(out: &mut impl Write, ns: u64) -> Result<(), Error> {
    number(out, ns / 1_000_000)?;
    match ns % 1_000_000 {
        0 => Ok(()),
        // Put a 1 in front so that leading zeros are written, and replace it with the decimal point.
        rest => {
            let mut digits = itoa::Buffer::new();
            let (_, digits) = digits.format(1_000_000 + rest).split_at(1);
            out.write_all(b".")?;
            Ok(out.write_all(digits.as_bytes())?)
        }
    }
}

/// Writes an array whose items are written by `one`.
fn array<T, W: Write>(
    out: &mut W,
    name: &str,
    items: impl IntoIterator<Item = T>,
    mut one: impl FnMut(&mut W, T) -> Result<(), Error>,
) -> Result<(), Error> {
    write!(out, r#""{name}":["#)?;
    for (place, item) in items.into_iter().enumerate() {
        out.write_all(comma(place).as_bytes())?;
        one(out, item)?;
    }
    Ok(write!(out, "]")?)
}

/// Writes a weight in the unit of the thread's samples.
fn weight(out: &mut impl Write, of: SampleType, weight: u64) -> Result<(), Error> {
    match of.name_and_unit().1 {
        "nanoseconds" => ms(out, weight),
        _ => number(out, weight),
    }
}

/// Returns the front end's name for the unit.
fn weight_type(of: SampleType) -> &'static str {
    match of.name_and_unit().1 {
        "nanoseconds" => "tracing-ms",
        "bytes" => "bytes",
        _ => "samples",
    }
}
