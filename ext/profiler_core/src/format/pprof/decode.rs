//! Decoding of messages into a profile. The file may contain anything: every number is checked before it is
//! used.

use super::label_names::{is_reserved, unescape, STATE};
use super::messages::{self, Text};
use super::timeline;
use crate::error::Error;
use crate::format::input::{AtMost, Budget, MAX_FRAMES};
use crate::ids::{FrameId, FunctionId, Id, Interner, StackId};
use crate::memory::history::{History, MemoryRow};
use crate::memory::ledger::Ledger;
use crate::profile::{Frame, Function, Node, Profile, RequestsRow, Sample, SampleType, Thread, Weights};
use crate::record::State;

/// The maximum number of places in stacks: those of months.
const MAX_NODES: usize = 16_000_000;

/// The maximum number of markers. A session keeps ten thousand, and profiles can be merged.
const MAX_MARKERS: usize = 2_000_000;

/// The maximum number of label sets whose requests are counted. A session has four thousand, and profiles can
/// be merged.
const MAX_REQUESTS: usize = 1_000_000;

/// The maximum number of rows of memory. A profile keeps fewer.
const MAX_MEMORY_ROWS: usize = 100_000;

/// Decodes a message of `bytes`.
pub(super) fn decode(message: messages::Profile, bytes: usize) -> Result<Profile, Error> {
    let mut budget = Budget::of(bytes);
    let strings = Strings(&message.string_table);
    if message.string_table.first().is_none_or(|first| !first.is_empty()) {
        return Err(Error::malformed("its first string is not the empty one"));
    }
    let sample_types = sample_types(&message, &strings)?;
    let mut stacks = Interner::default();
    let samples = samples(&message, &strings, &sample_types, &mut stacks, &mut budget)?;
    let functions = functions(&message, &strings, &mut budget)?;
    let mut thread = |row: &messages::Thread| {
        Ok(Thread { native_id: row.native_id, name: budget.copy(strings.get(row.name)?)? })
    };
    let mut profile = Profile {
        sample_types,
        functions,
        frames: frames(&message)?,
        stacks: stacks.into_rows(),
        threads: message.thread.iter().map(&mut thread).collect::<Result<_, Error>>()?,
        samples,
        markers: list::<_, MAX_MARKERS>(&message.markers)?,
        requests: list::<RequestsRow, MAX_REQUESTS>(&message.requests)?.into_iter().collect(),
        memory: History::new(list::<MemoryRow, MAX_MEMORY_ROWS>(&message.memory)?, ledgers(&message)?),
        meta: json(&message.meta)?,
        stats: json(&message.stats)?,
        timeline: None,
    };
    let timeline = message.timeline.as_ref().map(|it| timeline::decode(it, &profile));
    profile.timeline = timeline.transpose()?;
    Ok(profile)
}

/// Returns the ledgers, each of which can be read.
fn ledgers(message: &messages::Profile) -> Result<Vec<String>, Error> {
    let read = |text: &String| Ledger::parse(text).map(|_| text.clone()).map_err(Error::malformed);
    message.ledger.iter().map(read).collect()
}

fn json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|error| Error::malformed(format!("its description: {error}")))
}

fn list<T: serde::de::DeserializeOwned, const MAX: usize>(text: &str) -> Result<Vec<T>, Error> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    json::<AtMost<T, MAX>>(text).map(|it| it.0)
}

fn sample_types(message: &messages::Profile, strings: &Strings<'_>) -> Result<Vec<SampleType>, Error> {
    let mut types = Vec::new();
    for value_type in &message.sample_type {
        let named = (strings.get(value_type.r#type)?, strings.get(value_type.unit)?);
        let found = SampleType::ALL.into_iter().find(|it| it.name_and_unit() == named);
        let found = found.ok_or_else(|| Error::malformed(format!("no sample type is called {named:?}")))?;
        if types.last().is_some_and(|last| *last >= found) {
            return Err(Error::malformed("its sample types are out of order"));
        }
        types.push(found);
    }
    Ok(types)
}

fn functions(
    message: &messages::Profile,
    strings: &Strings<'_>,
    budget: &mut Budget,
) -> Result<Vec<Function>, Error> {
    let rows = message.function.len();
    if message.function_class_name.len() != rows || message.function_method_name.len() != rows {
        return Err(Error::malformed("it does not name each function"));
    }
    let names = message.function_class_name.iter().zip(&message.function_method_name);
    let mut functions = Vec::with_capacity(rows);
    for (row, (class_name, method_name)) in message.function.iter().zip(names) {
        in_sequence("function", row.id, functions.len())?;
        functions.push(Function {
            name: budget.copy(strings.get(row.name)?)?,
            class_name: budget.copy(strings.get(*class_name)?)?,
            method_name: budget.copy(strings.get(*method_name)?)?,
            path: budget.copy(strings.get(row.filename)?)?,
            first_line: line(row.start_line)?,
        });
    }
    Ok(functions)
}

fn frames(message: &messages::Profile) -> Result<Vec<Frame>, Error> {
    let mut frames = Vec::with_capacity(message.location.len());
    for row in &message.location {
        in_sequence("location", row.id, frames.len())?;
        let [at] = row.line.as_slice() else {
            return Err(Error::malformed(format!("location {} does not have exactly one line", row.id)));
        };
        let function = FunctionId::from_index(place("function", at.function_id, message.function.len())?);
        frames.push(Frame { function, line: line(at.line)? });
    }
    Ok(frames)
}

fn samples(
    message: &messages::Profile,
    strings: &Strings<'_>,
    types: &[SampleType],
    stacks: &mut Interner<Node, StackId>,
    budget: &mut Budget,
) -> Result<Vec<Sample>, Error> {
    if message.sample_thread.len() != message.sample.len() {
        return Err(Error::malformed("it does not name the thread of each sample"));
    }
    let mut samples = Vec::with_capacity(message.sample.len());
    let mut totals = Weights::default();
    for (row, thread) in message.sample.iter().zip(&message.sample_thread) {
        let thread = usize::try_from(*thread).ok().filter(|it| *it < message.thread.len());
        let mut stack = None;
        if row.location_id.len() > MAX_FRAMES as usize {
            return Err(Error::malformed(format!("a stack has more than {MAX_FRAMES} frames")));
        }
        for id in row.location_id.iter().rev() {
            let frame = FrameId::from_index(place("location", *id, message.location.len())?);
            stack = Some(stacks.intern(Node { parent: stack, frame }));
        }
        if stacks.rows().len() > MAX_NODES {
            return Err(Error::malformed(format!(
                "its stacks have more than {MAX_NODES} nodes in their tree"
            )));
        }
        let (state, labels) = labels(row, strings, budget)?;
        samples.push(Sample {
            stack: stack.ok_or_else(|| Error::malformed("a sample has no stack"))?,
            thread: thread.ok_or_else(|| Error::malformed("a sample is of no thread"))?,
            state,
            labels,
            weights: weights(row, types, &mut totals)?,
        });
    }
    Ok(samples)
}

/// Returns the weights of a row. Adds them to `totals` as well, so that a later sum cannot overflow.
fn weights(row: &messages::Sample, types: &[SampleType], totals: &mut Weights) -> Result<Weights, Error> {
    if row.value.len() != types.len() {
        return Err(Error::malformed("a sample does not have one value per sample type"));
    }
    let mut weights = Weights::default();
    for (of, value) in types.iter().zip(&row.value) {
        let value = u64::try_from(*value).map_err(|_| Error::malformed("a sample has a negative weight"))?;
        let total = totals.get(*of).checked_add(value).filter(|it| i64::try_from(*it).is_ok());
        totals.set(*of, total.ok_or_else(|| Error::malformed("the sum of its weights is too large"))?);
        weights.set(*of, value);
    }
    Ok(weights)
}

type Labels = Vec<(String, String)>;

fn labels(
    row: &messages::Sample,
    strings: &Strings<'_>,
    budget: &mut Budget,
) -> Result<(State, Labels), Error> {
    let mut state = None;
    let mut labels = Vec::new();
    for label in &row.label {
        let (name, text) = (strings.get(label.key)?, strings.get(label.str)?);
        if name == STATE {
            state = State::ALL.into_iter().find(|it| it.name() == text);
        } else if !is_reserved(name) {
            labels.push((budget.copy(unescape(name))?, budget.copy(text)?));
        }
    }
    Ok((state.ok_or_else(|| Error::malformed("a sample has an unknown state"))?, labels))
}

struct Strings<'message>(&'message [String]);

impl<'message> Strings<'message> {
    fn get(&self, text: Text) -> Result<&'message str, Error> {
        let found = usize::try_from(text).ok().and_then(|place| self.0.get(place));
        let missing =
            || Error::malformed(format!("it refers to string {text}, but has only {}", self.0.len()));
        found.map(String::as_str).ok_or_else(missing)
    }
}

fn in_sequence(what: &str, id: u64, before: usize) -> Result<(), Error> {
    if id == before as u64 + 1 {
        Ok(())
    } else {
        Err(Error::malformed(format!("{what} {id} is out of order")))
    }
}

/// Returns the index in a table of `rows` rows for an id, which counts from 1.
fn place(what: &str, id: u64, rows: usize) -> Result<usize, Error> {
    let place = usize::try_from(id).ok().and_then(|id| id.checked_sub(1)).filter(|it| *it < rows);
    place.ok_or_else(|| Error::malformed(format!("{what} {id} of {rows}")))
}

fn line(number: i64) -> Result<u32, Error> {
    u32::try_from(number).map_err(|_| Error::malformed(format!("line {number}")))
}
