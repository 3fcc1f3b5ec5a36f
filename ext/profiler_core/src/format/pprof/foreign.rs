//! The reader of a pprof that another program wrote, which takes everything that we have a place for.

use std::collections::HashMap;

use super::label_names::{STATE, THREAD_ID, THREAD_NAME};
use super::messages::{self, Location, Text};
use crate::error::Error;
use crate::format::input::{Builder, SampleKey};
use crate::ids::{FrameId, FunctionId};
use crate::profile::{Meta, Note, Profile, SampleType, Weights};
use crate::record::State;

/// The maximum number of sample types; the measurements of a program are about a dozen.
const MAX_COLUMNS: usize = 1_000;

/// A column of values: the sample type that it becomes, and the factor for its values.
struct Column {
    place: usize,
    of: SampleType,
    scale: u64,
}

/// Decodes a message of `bytes`.
pub(super) fn decode(message: &messages::Profile, bytes: usize) -> Result<Profile, Error> {
    let text = |index: Text| {
        let found = usize::try_from(index).ok().and_then(|place| message.string_table.get(place));
        let missing = || {
            Error::malformed(format!(
                "it refers to string {index}, but has only {}",
                message.string_table.len()
            ))
        };
        found.map(String::as_str).ok_or_else(missing)
    };
    let mut notes = vec![Note::ReadFrom { format: "a pprof that another program wrote".into() }];
    let mut builder = Builder::new(bytes);
    let columns = columns(message, &text, &mut notes, &mut builder)?;

    let mut functions: HashMap<u64, FunctionId> = HashMap::new();
    for function in &message.function {
        let line = u32::try_from(function.start_line).unwrap_or(0);
        functions
            .insert(function.id, builder.function(text(function.name)?, text(function.filename)?, line)?);
    }
    let mut locations: HashMap<u64, Vec<FrameId>> = HashMap::new();
    for location in &message.location {
        locations.insert(location.id, frames(location, &functions, &mut builder)?);
    }
    for row in &message.sample {
        let mut stack = None;
        for id in row.location_id.iter().rev() {
            let frames =
                locations.get(id).ok_or_else(|| Error::malformed(format!("location {id} is not there")))?;
            // An inlined call comes before the function that it was inlined into.
            for frame in frames.iter().rev() {
                stack = Some(builder.call(stack, *frame)?);
            }
        }
        let Some(stack) = stack else { continue };
        let weights = weights(row, &columns)?;
        let row = labelled(row, stack, &text, &mut builder)?;
        builder.add(row, &weights)?;
    }
    let unsigned = |it: i64| u64::try_from(it).unwrap_or(0);
    let program = message.mapping.first().map(|it| text(it.filename)).transpose()?;
    let period = message.period_type.map(|it| text(it.unit)).transpose()?;
    let meta = Meta {
        program: program.unwrap_or_default().to_owned(),
        started_at_ns: unsigned(message.time_nanos),
        duration_ns: unsigned(message.duration_nanos),
        interval_ns: if period == Some("nanoseconds") { unsigned(message.period) } else { 0 },
        notes,
        ..Meta::default()
    };
    Ok(builder.finish(columns.iter().map(|it| it.of).collect(), meta))
}

/// Returns the frames of a location, the innermost first. A frame without a name is named by its address.
fn frames(
    location: &Location,
    functions: &HashMap<u64, FunctionId>,
    builder: &mut Builder,
) -> Result<Vec<FrameId>, Error> {
    if location.line.is_empty() {
        let function = builder.function(&format!("0x{:x}", location.address), "", 0)?;
        return Ok(vec![builder.frame(function, 0)]);
    }
    let mut frames = Vec::with_capacity(location.line.len());
    for line in &location.line {
        let missing = || Error::malformed(format!("function {} is not there", line.function_id));
        let function = functions.get(&line.function_id).ok_or_else(missing)?;
        frames.push(builder.frame(*function, u32::try_from(line.line).unwrap_or(0)));
    }
    Ok(frames)
}

fn columns<'message>(
    message: &'message messages::Profile,
    text: &impl Fn(Text) -> Result<&'message str, Error>,
    notes: &mut Vec<Note>,
    builder: &mut Builder,
) -> Result<Vec<Column>, Error> {
    let mut columns: Vec<Column> = Vec::new();
    let mut left = Vec::new();
    for (place, it) in message.sample_type.iter().enumerate() {
        let (name, unit) = (text(it.r#type)?, text(it.unit)?);
        if place == MAX_COLUMNS {
            return Err(Error::malformed(format!("it has more than {MAX_COLUMNS} sample types")));
        }
        let (kind, scale) = kind(unit);
        match by_name(name, kind).filter(|of| columns.iter().all(|it| it.of != *of)) {
            Some(of) => columns.push(Column { place, of, scale }),
            None => left.push((place, name, unit, kind, scale)),
        }
    }
    for (place, name, unit, kind, scale) in left {
        builder.budget.text(name)?;
        builder.budget.text(unit)?;
        let may = match kind {
            Kind::Time => &[SampleType::Wall, SampleType::Cpu][..],
            Kind::Bytes => &[SampleType::AllocSpace, SampleType::InuseSpace],
            Kind::Number => &[SampleType::Samples, SampleType::AllocObjects, SampleType::InuseObjects],
        };
        let free = may.iter().copied().find(|of| columns.iter().all(|it| it.of != *of));
        let shown_as = free.map(|of| of.name_and_unit().0.into());
        notes.push(Note::Column { name: name.to_owned(), unit: unit.to_owned(), shown_as });
        columns.extend(free.map(|of| Column { place, of, scale }));
    }
    Ok(columns)
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Time,
    Bytes,
    Number,
}

fn kind(unit: &str) -> (Kind, u64) {
    match unit {
        "nanoseconds" | "ns" => (Kind::Time, 1),
        "microseconds" | "us" => (Kind::Time, 1_000),
        "milliseconds" | "ms" => (Kind::Time, 1_000_000),
        "seconds" | "s" => (Kind::Time, 1_000_000_000),
        "bytes" => (Kind::Bytes, 1),
        "kilobytes" => (Kind::Bytes, 1 << 10),
        "megabytes" => (Kind::Bytes, 1 << 20),
        _ => (Kind::Number, 1),
    }
}

/// Returns the sample type for a name that other profilers use.
fn by_name(name: &str, kind: Kind) -> Option<SampleType> {
    let own = SampleType::ALL.into_iter().find(|it| it.name_and_unit().0 == name);
    let of = own.or(match name {
        "sample" | "cpu-samples" => Some(SampleType::Samples),
        "cpu-time" => Some(SampleType::Cpu),
        "wall-time" => Some(SampleType::Wall),
        "alloc-samples" => Some(SampleType::AllocObjects),
        "objects" | "heap-live-samples" => Some(SampleType::InuseObjects),
        "space" | "heap-live-size" => Some(SampleType::InuseSpace),
        _ => None,
    });
    of.filter(|it| self::kind(it.name_and_unit().1).0 == kind)
}

fn weights(row: &messages::Sample, columns: &[Column]) -> Result<Weights, Error> {
    let mut weights = Weights::default();
    for column in columns {
        let value = row.value.get(column.place).copied();
        let value =
            value.ok_or_else(|| Error::malformed("a sample does not have one value per sample type"))?;
        let less = |_| Error::malformed("a sample has a negative weight: differences cannot be read");
        weights.set(column.of, u64::try_from(value).map_err(less)?.saturating_mul(column.scale));
    }
    Ok(weights)
}

/// Builds a row from a sample's labels. The labels for thread and state become fields of the row.
fn labelled<'message>(
    row: &messages::Sample,
    stack: crate::ids::StackId,
    text: &impl Fn(Text) -> Result<&'message str, Error>,
    builder: &mut Builder,
) -> Result<SampleKey, Error> {
    let (mut native_id, mut thread, mut state) = (0, "", State::Running);
    let mut labels: Vec<(String, String)> = Vec::new();
    for label in &row.label {
        let (name, value) = (text(label.key)?, text(label.str)?);
        builder.budget.text(name)?;
        builder.budget.text(value)?;
        let known = State::ALL.into_iter().find(|it| it.name() == value);
        match (name, known) {
            (THREAD_ID | "thread_id", _) if label.num > 0 => native_id = label.num as u64,
            (THREAD_NAME | "thread" | "thread_name", _) if !value.is_empty() => thread = value,
            (STATE, Some(known)) => state = known,
            _ if value.is_empty() => labels.push((name.into(), label.num.to_string())),
            _ => labels.push((name.into(), value.into())),
        }
    }
    // If a name has several values, the first is kept.
    labels.sort();
    labels.dedup_by(|one, other| one.0 == other.0);
    Ok(SampleKey { stack, thread: builder.thread(native_id, thread)?, state, labels })
}
