//! The reader of speedscope's format, as written by speedscope.app and other tools.

use serde::de::{SeqAccess, Visitor};
use serde::Deserialize;

use super::json::parse;
use crate::error::Error;
use crate::format::input::{AtMost, Builder, SampleKey};
use crate::format::speedscope::{BETWEEN, EXPORTER};
use crate::ids::{FrameId, StackId, ThreadId};
use crate::profile::{Meta, Note, Profile, SampleType, Weights};
use crate::record::State;

/// The maximum number of profiles in a file: one for each thread and sample type.
const MAX_PROFILES: usize = 100_000;

/// The maximum number of functions.
const MAX_FUNCTIONS: usize = 4_000_000;

#[derive(Deserialize)]
struct File {
    shared: Shared,
    profiles: AtMost<One, MAX_PROFILES>,
    #[serde(default)]
    exporter: String,
    name: Option<String>,
}

#[derive(Deserialize)]
struct Shared {
    frames: AtMost<Frame, MAX_FUNCTIONS>,
}

#[derive(Deserialize)]
struct Frame {
    name: String,
    file: Option<String>,
    line: Option<f64>,
}

#[derive(Deserialize)]
struct One {
    r#type: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    unit: String,
    #[serde(default)]
    samples: Stacks,
    #[serde(default)]
    weights: Vec<f64>,
    #[serde(default)]
    events: Vec<Event>,
    #[serde(rename = "startValue", default)]
    start: f64,
}

#[derive(Deserialize)]
struct Event {
    r#type: Kind,
    frame: u32,
    at: f64,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
enum Kind {
    #[serde(rename = "O")]
    Open,
    #[serde(rename = "C")]
    Close,
}

/// The stacks in one list, and where each ends: many short lists would take far more memory.
#[derive(Default)]
struct Stacks {
    frames: Vec<u32>,
    ends: Vec<u32>,
}

impl<'de> Deserialize<'de> for Stacks {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Outer;
        struct Inner<'list>(&'list mut Vec<u32>);
        impl<'de> Visitor<'de> for Outer {
            type Value = Stacks;
            fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                to.write_str("an array of arrays of numbers")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Stacks, A::Error> {
                let mut stacks = Stacks::default();
                while seq.next_element_seed(Inner(&mut stacks.frames))?.is_some() {
                    stacks.ends.push(u32::try_from(stacks.frames.len()).unwrap_or(u32::MAX));
                }
                Ok(stacks)
            }
        }
        impl<'de> serde::de::DeserializeSeed<'de> for Inner<'_> {
            type Value = ();
            fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
                from.deserialize_seq(self)
            }
        }
        impl<'de> Visitor<'de> for Inner<'_> {
            type Value = ();
            fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                to.write_str("an array of numbers")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
                while let Some(frame) = seq.next_element()? {
                    self.0.push(frame);
                }
                Ok(())
            }
        }
        from.deserialize_seq(Outer)
    }
}

pub(super) fn read(text: &str) -> Result<Profile, Error> {
    let file: File = parse(text)?;
    let mut builder = Builder::new(text.len());
    let line = |it: Option<f64>| it.filter(|it| *it >= 1.0).map_or(0, |it| it as u32);
    let frames: Vec<FrameId> = file
        .shared
        .frames
        .0
        .iter()
        .map(|frame| {
            let function =
                builder.function(&frame.name, frame.file.as_deref().unwrap_or_default(), line(frame.line))?;
            Ok(builder.frame(function, 0))
        })
        .collect::<Result<_, Error>>()?;
    let ours = file.exporter.starts_with(EXPORTER);
    let mut types = Vec::new();
    for one in &file.profiles.0 {
        let named = one.name.rsplit_once(BETWEEN).filter(|_| ours);
        let known = |name: &str| SampleType::ALL.into_iter().find(|it| it.name_and_unit().0 == name);
        let (thread, of) = match named.and_then(|(thread, name)| Some((thread, known(name)?))) {
            Some(both) => both,
            None => (one.name.as_str(), of_unit(&one.unit)?),
        };
        types.push(of);
        let thread = builder.thread(0, thread)?;
        let mut sink = Sink { builder: &mut builder, frames: &frames, thread, of, scale: scale(&one.unit) };
        match one.r#type.as_str() {
            "sampled" => sink.sampled(one)?,
            "evented" => sink.evented(one)?,
            other => {
                return Err(Error::malformed(format!(
                    "a profile of the type {other:?} (allowed: sampled, evented)"
                )))
            }
        }
    }
    let format = "a file of speedscope: without states, labels, and the lines that ran".into();
    let notes = vec![Note::ReadFrom { format }];
    Ok(builder.finish(types, Meta { notes, program: file.name.unwrap_or_default(), ..Meta::default() }))
}

fn of_unit(unit: &str) -> Result<SampleType, Error> {
    match unit {
        "nanoseconds" | "microseconds" | "milliseconds" | "seconds" => Ok(SampleType::Wall),
        "bytes" => Ok(SampleType::AllocSpace),
        "none" | "" => Ok(SampleType::Samples),
        other => Err(Error::malformed(format!("a profile in {other:?}, which is not a unit of speedscope"))),
    }
}

fn scale(unit: &str) -> f64 {
    match unit {
        "microseconds" => 1e3,
        "milliseconds" => 1e6,
        "seconds" => 1e9,
        _ => 1.0,
    }
}

struct Sink<'reader> {
    builder: &'reader mut Builder,
    frames: &'reader [FrameId],
    thread: ThreadId,
    of: SampleType,
    scale: f64,
}

impl Sink<'_> {
    fn sampled(&mut self, one: &One) -> Result<(), Error> {
        if one.weights.len() != one.samples.ends.len() {
            return Err(Error::malformed("a profile does not have one weight per sample"));
        }
        let mut begin = 0;
        for (end, weight) in one.samples.ends.iter().zip(&one.weights) {
            let end = *end as usize;
            let mut stack = None;
            for frame in one.samples.frames.get(begin..end).unwrap_or_default() {
                stack = Some(self.call(stack, *frame)?);
            }
            begin = end;
            self.add(stack, *weight)?;
        }
        Ok(())
    }

    fn evented(&mut self, one: &One) -> Result<(), Error> {
        let (mut stack, mut last) = (None, one.start);
        for event in &one.events {
            if event.at < last {
                return Err(Error::malformed("its events are not ordered by time"));
            }
            self.add(stack, event.at - last)?;
            last = event.at;
            stack = match event.r#type {
                Kind::Open => Some(self.call(stack, event.frame)?),
                Kind::Close => {
                    let open = stack.and_then(|it| self.builder.node(it));
                    let open = open.filter(|it| self.frames.get(event.frame as usize) == Some(&it.frame));
                    open.ok_or_else(|| Error::malformed("an event closes a frame that was not opened last"))?
                        .parent
                }
            };
        }
        match stack {
            None => Ok(()),
            Some(_) => Err(Error::malformed("its events leave frames open")),
        }
    }

    fn call(&mut self, caller: Option<StackId>, frame: u32) -> Result<StackId, Error> {
        let rows = self.frames.len();
        let frame = self.frames.get(frame as usize);
        self.builder.call(
            caller,
            *frame.ok_or_else(|| Error::malformed(format!("a frame that is not one of {rows}")))?,
        )
    }

    /// Adds a weight. A weight without a stack is a gap.
    fn add(&mut self, stack: Option<StackId>, weight: f64) -> Result<(), Error> {
        if weight.is_nan() || weight < 0.0 {
            return Err(Error::malformed("a sample has a negative weight"));
        }
        let Some(stack) = stack.filter(|_| weight > 0.0) else { return Ok(()) };
        let mut weights = Weights::default();
        // The conversion stops at the largest number, which is too large for any sum.
        weights.set(self.of, (weight * self.scale).round() as u64);
        let row = SampleKey { stack, thread: self.thread, state: State::Running, labels: Vec::new() };
        self.builder.add(row, &weights)
    }
}
