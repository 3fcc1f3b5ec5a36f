//! What a session measures, and of how many objects it looks at one.

use std::ops::RangeInclusive;

use magnus::{prelude::*, Error, RArray, Ruby, Symbol, Value};
use profiler_core::view::Measures;

use super::{integer, wall};
use crate::errors::{argument_error, error};
use crate::vm;

const EVERY: RangeInclusive<i64> = 1..=1_000_000;
const DEFAULT_EVERY: i64 = 1_000;

/// What can be asked for, and what each is also called.
const MODES: [(&str, &[&str]); 4] =
    [("cpu", &[]), ("wall", &[]), ("allocations", &["object"]), ("heap", &["retained"])];

/// The names of what a session measures, as `mode:` has them.
pub(crate) fn modes(measures: Measures) -> Vec<String> {
    let named = [
        ("cpu", measures.cpu),
        ("wall", measures.wall),
        ("allocations", measures.allocations),
        ("heap", measures.heap),
    ];
    named.into_iter().filter(|(_, on)| *on).map(|(name, _)| name.to_owned()).collect()
}

pub(super) fn measures(ruby: &Ruby, value: Option<Value>) -> Result<Measures, Error> {
    let Some(value) = value else { return Ok(Measures::default()) };
    let asked: Vec<Value> = match RArray::from_value(value) {
        Some(array) => array.into_iter().collect(),
        None => vec![value],
    };
    let mode = |mode: &Value| {
        let name = Symbol::from_value(*mode)?.name().ok()?;
        MODES.iter().find(|(mode, others)| *mode == name || others.contains(&&*name)).map(|(mode, _)| *mode)
    };
    let Some(known) = asked.iter().map(mode).collect::<Option<Vec<_>>>().filter(|it| !it.is_empty()) else {
        let allowed = MODES.map(|(name, _)| format!(":{name}")).join(", ");
        let message =
            format!("mode: {} is not a mode (allowed: {allowed}, an Array of these)", value.inspect());
        return Err(argument_error(ruby, message));
    };
    let has = |name| known.contains(&name);
    let measures =
        Measures { cpu: has("cpu"), wall: has("wall"), allocations: has("allocations"), heap: has("heap") };
    let why_not = |of, why, allowed| {
        let message = format!("mode: {of} cannot be measured here: {why} (allowed: {allowed})");
        Err(error(ruby, "Unsupported", message))
    };
    if let Some(why) = measures.wall.then(|| wall::no_hooks(ruby)).flatten() {
        return why_not(value.inspect(), why, ":cpu, :allocations, :heap");
    }
    if let Some(why) = measures.objects().then(|| no_objects(ruby)).flatten() {
        return why_not(value.inspect(), why, ":cpu, :wall");
    }
    if measures.heap && vm::process::has_ractors(ruby) {
        let why = "there are Ractors, and one that collects garbage does not tell what it frees";
        return why_not(value.inspect(), why, ":cpu, :wall, :allocations");
    }
    Ok(measures)
}

/// Why objects cannot be looked at.
pub(crate) fn no_objects(ruby: &Ruby) -> Option<&'static str> {
    let kills = vm::allocations::HOOK_KILLS_RACTORS && vm::process::has_ractors(ruby);
    kills.then_some(
        "there are Ractors, and before Ruby 3.3 a hook on allocation kills a process that has some",
    )
}

pub(super) fn every(ruby: &Ruby, measures: Measures, value: Option<Value>) -> Result<u64, Error> {
    match (measures.objects(), value) {
        (true, value) => Ok(integer(ruby, "every", value, &EVERY)?.unwrap_or(DEFAULT_EVERY) as u64),
        (false, None) => Ok(0),
        (false, Some(value)) => {
            let message =
                format!("every: {} is for objects, which need mode: :allocations or :heap", value.inspect());
            Err(argument_error(ruby, message))
        }
    }
}

/// An error if one of these options is given, which say something of time.
pub(super) fn no_time<const N: usize>(ruby: &Ruby, options: [(&str, Option<Value>); N]) -> Result<(), Error> {
    match options.into_iter().find_map(|(name, value)| Some((name, value?))) {
        None => Ok(()),
        Some((name, value)) => {
            let message = format!("{name}: {} is for time, which needs mode: :cpu or :wall", value.inspect());
            Err(argument_error(ruby, message))
        }
    }
}
