//! The Firefox Profiler's processed profile: threads with their samples in time, markers, counters, allocations.
//!
//! Version 48 on purpose: every later front end upgrades it, and an older one than ours would refuse a newer file.
//! A sample carries its weight and the CPU time of its thread, so that what ran and what waited is seen at once.

mod counters;
mod meta;
mod table;
mod thread;

use std::io::{BufWriter, Write};

use super::json_out::{comma, json, number};
use super::sample_series::Series;
use super::{threads, Options};
use crate::error::Error;
use crate::ids::Id;
use crate::profile::{Profile, SampleType};
use thread::Thread;

/// Writes the file.
///
/// # Errors
/// [`Error::Io`] when `out` fails, [`Error::NotMeasured`] when the profile lacks the requested sample type.
pub fn write(profile: &Profile, options: &Options, out: &mut dyn Write) -> Result<(), Error> {
    let of = options.sample_type_of(profile)?;
    let names = threads::names(profile);
    let mut rows: Vec<Thread<'_>> = names.iter().map(|name| Thread::new(profile, of, name)).collect();
    let mut counters = counters::Counters::new(profile);
    // Where in its thread's table the stack of each row is, once it is there.
    let mut stacks: Vec<Option<usize>> = vec![None; profile.samples.len()];
    Series::of(profile).each(|share| {
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
    // The front end wants one thread at least.
    if rows.is_empty() {
        rows.push(Thread::new(profile, of, "main"));
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

/// Nanoseconds as the milliseconds that the format counts in.
fn ms(out: &mut impl Write, ns: u64) -> Result<(), Error> {
    number(out, ns / 1_000_000)?;
    match ns % 1_000_000 {
        0 => Ok(()),
        // A one before it, so that its zeros are written; then a point in place of that.
        rest => {
            let mut digits = itoa::Buffer::new();
            let (_, digits) = digits.format(1_000_000 + rest).split_at(1);
            out.write_all(b".")?;
            Ok(out.write_all(digits.as_bytes())?)
        }
    }
}

/// An array of whatever `one` writes.
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

/// A weight in the unit that the samples of a thread have.
fn weight(out: &mut impl Write, of: SampleType, weight: u64) -> Result<(), Error> {
    match of.name_and_unit().1 {
        "nanoseconds" => ms(out, weight),
        _ => number(out, weight),
    }
}

/// The front end's name for the unit.
fn weight_type(of: SampleType) -> &'static str {
    match of.name_and_unit().1 {
        "nanoseconds" => "tracing-ms",
        "bytes" => "bytes",
        _ => "samples",
    }
}
