//! The callgrind format, for KCachegrind and `callgrind_annotate`: costs by line, and the cost of each call.
//!
//! In a profile, all sample types are events. The number of calls of a method is unknown, so `calls=` has the
//! number of samples, or 1. A call counts once per stack, so recursion is not counted twice. A trace of what runs
//! inside a method has the true numbers.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::display::clean_name;
use super::Options;
use crate::error::Error;
use crate::ids::{FunctionId, Id};
use crate::profile::{Function, Profile, SampleType, Weights, NAME};
use crate::text::clean;
use crate::trace::{InnerCaller, InnerFunction, Inside};

/// The caller's line, and the callee.
type Call = (u32, FunctionId);

#[derive(Default)]
struct Costs {
    own: BTreeMap<u32, Weights>,
    calls: BTreeMap<Call, Weights>,
}

/// Writes the file.
///
/// # Errors
/// Returns [`Error::Io`] if `out` fails, and [`Error::NotMeasured`] if the profile lacks the requested sample
/// type.
pub fn write(profile: &Profile, options: &Options, out: &mut dyn Write) -> Result<(), Error> {
    options.sample_type_of(profile)?;
    let costs = costs(profile);
    let types = &profile.sample_types;
    let mut out = BufWriter::with_capacity(1 << 16, out);
    let meta = &profile.meta;
    writeln!(out, "{}", start())?;
    writeln!(out, "cmd: {}\npid: {}", or(clean(&meta.program).as_ref(), "ruby"), meta.pid)?;
    if let Some(name) = meta.user.get(NAME) {
        writeln!(out, "desc: Name: {}", clean(name))?;
    }
    writeln!(out, "desc: Ruby: {}\npositions: line", clean(&meta.ruby))?;
    // Readers need the description of an event before the list of events.
    for of in types {
        let (name, unit) = of.name_and_unit();
        writeln!(out, "event: {name} : {name} ({unit})")?;
    }
    let names: Vec<&str> = types.iter().map(|it| it.name_and_unit().0).collect();
    writeln!(out, "events: {}", names.join(" "))?;
    writeln!(out, "summary:{}", numbers(types, &profile.total()))?;

    let mut files = Names::default();
    let mut functions = Names::default();
    for (place, costs) in costs.iter().enumerate() {
        let id = FunctionId::from_index(place);
        let Some(function) =
            profile.function(id).filter(|_| !costs.own.is_empty() || !costs.calls.is_empty())
        else {
            continue;
        };
        writeln!(out, "\nfl={}", files.of(id, || file(function)))?;
        writeln!(out, "fn={}", functions.of(id, || clean_name(function).into_owned()))?;
        for (line, weights) in &costs.own {
            writeln!(out, "{line}{}", numbers(types, weights))?;
        }
        for ((line, callee), weights) in &costs.calls {
            let id = *callee;
            let Some(callee) = profile.function(id) else { continue };
            writeln!(out, "cfi={}", files.of(id, || file(callee)))?;
            writeln!(out, "cfn={}", functions.of(id, || clean_name(callee).into_owned()))?;
            writeln!(out, "calls={} {}", weights.get(SampleType::Samples).max(1), callee.first_line)?;
            writeln!(out, "{line}{}", numbers(types, weights))?;
        }
    }
    writeln!(out, "\ntotals:{}", numbers(types, &profile.total()))?;
    Ok(out.flush()?)
}

/// Writes what ran inside of a traced method: the number and the time of all calls, at the first line of each function.
/// Runs of a block count as calls.
///
/// # Errors
/// Returns [`Error::Io`] if `out` fails.
pub fn write_inside(name: &str, inside: &Inside, out: &mut dyn Write) -> Result<(), Error> {
    let mut callees: Vec<Vec<(usize, &InnerCaller)>> = vec![Vec::new(); inside.functions.len()];
    for (place, function) in inside.functions.iter().enumerate() {
        for call in &function.callers {
            if let Some(callees) = callees.get_mut(call.place) {
                callees.push((place, call));
            }
        }
    }
    let total_ns: u64 = inside.functions.iter().map(|it| it.self_ns).sum();
    let mut out = BufWriter::with_capacity(1 << 16, out);
    writeln!(out, "{}\ncmd: {}\npositions: line", start(), or(clean(name).as_ref(), "ruby"))?;
    writeln!(out, "event: wall : wall (nanoseconds)\nevents: wall\nsummary: {total_ns}")?;
    let mut files = Names::default();
    let mut functions = Names::default();
    for (place, (it, callees)) in inside.functions.iter().zip(callees).enumerate() {
        let id = FunctionId::from_index(place);
        let line = it.function.first_line;
        writeln!(out, "\nfl={}", files.of(id, || file(&it.function)))?;
        writeln!(out, "fn={}", functions.of(id, || clean_name(&it.function).into_owned()))?;
        writeln!(out, "{line} {}", it.self_ns)?;
        for (place, call) in callees {
            let id = FunctionId::from_index(place);
            let Some(InnerFunction { function, .. }) = inside.functions.get(place) else { continue };
            writeln!(out, "cfi={}", files.of(id, || file(function)))?;
            writeln!(out, "cfn={}", functions.of(id, || clean_name(function).into_owned()))?;
            writeln!(out, "calls={} {}", call.calls + call.blocks, function.first_line)?;
            writeln!(out, "{line} {}", call.total_ns)?;
        }
    }
    writeln!(out, "\ntotals: {total_ns}")?;
    Ok(out.flush()?)
}

/// Returns the first lines.
fn start() -> String {
    format!("# callgrind format\nversion: 1\ncreator: profiler {}", env!("CARGO_PKG_VERSION"))
}

/// Returns the costs by function.
fn costs(profile: &Profile) -> Vec<Costs> {
    let mut costs: Vec<Costs> =
        std::iter::repeat_with(Costs::default).take(profile.functions.len()).collect();
    let mut seen = std::collections::HashSet::new();
    for sample in &profile.samples {
        seen.clear();
        let mut callee = None;
        for frame in profile.frames_of(sample.stack) {
            let Some(costs) = costs.get_mut(frame.function.index()) else { continue };
            match callee.replace(frame.function) {
                None => costs.own.entry(frame.line).or_default().add(&sample.weights),
                Some(callee) if seen.insert((frame, callee)) => {
                    costs.calls.entry((frame.line, callee)).or_default().add(&sample.weights);
                }
                Some(_) => {}
            }
        }
    }
    costs
}

/// Returns the rest of the line.
fn numbers(types: &[SampleType], weights: &Weights) -> String {
    types.iter().map(|of| format!(" {}", weights.get(*of))).collect()
}

fn file(function: &Function) -> String {
    or(clean(&function.path).as_ref(), "???").to_owned()
}

fn or<'text>(text: &'text str, otherwise: &'text str) -> &'text str {
    if text.is_empty() {
        otherwise
    } else {
        text
    }
}

/// The names of functions. Each is written in full the first time, and by its number after that. The name of
/// a function may be long, so it is computed once.
#[derive(Default)]
struct Names {
    numbers: BTreeMap<String, usize>,
    known: HashMap<FunctionId, usize, FxBuildHasher>,
}

impl Names {
    fn of(&mut self, function: FunctionId, name: impl FnOnce() -> String) -> String {
        if let Some(number) = self.known.get(&function) {
            return format!("({number})");
        }
        let (name, next) = (name(), self.numbers.len() + 1);
        let number = self.numbers.get(&name).copied();
        self.known.insert(function, number.unwrap_or(next));
        match number {
            Some(number) => format!("({number})"),
            None => {
                let first = format!("({next}) {name}");
                self.numbers.insert(name, next);
                first
            }
        }
    }
}
