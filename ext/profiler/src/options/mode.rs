//! The measures of a session, and its sampling window of objects.

use std::ops::RangeInclusive;

use magnus::{Error, RArray, Ruby, Symbol, Value};
use profiler_core::sampling::allocation_sampler::Window;
use profiler_core::session::spec::Measures;

use crate::before_3_3;
use crate::errors::wrong_value;
use crate::options::integer::integer;
use crate::options::keywords::either;
use crate::options::wall;
use crate::vm;
use crate::vm::door::inspect;
use crate::vm::exceptions::error;

const EVERY: RangeInclusive<i64> = 1..=1_000_000;
const DEFAULT_EVERY: i64 = 1_000;
/// The range begins above the size of the largest slot.
const EVERY_BYTES: RangeInclusive<i64> = 1_024..=1 << 30;

/// The modes that can be requested.
const MODES: [&str; 4] = ["cpu", "wall", "allocations", "heap"];

/// Returns the names of a session's measures, as `mode:` spells them.
pub(crate) fn modes(measures: Measures) -> Vec<String> {
    let Measures { cpu, wall, allocations, heap, runnable: _ } = measures;
    let on = MODES.into_iter().zip([cpu, wall, allocations, heap]).filter(|(_, on)| *on);
    on.map(|(name, _)| name.to_owned()).collect()
}

/// Returns the measures with the one that `mode` names added; `None` if it names none.
fn with(measures: Measures, mode: Value) -> Option<Measures> {
    Some(match &*Symbol::from_value(mode)?.name().ok()? {
        "cpu" => Measures { cpu: true, ..measures },
        "wall" => Measures { wall: true, ..measures },
        "allocations" | "object" => Measures { allocations: true, ..measures },
        "heap" | "retained" => Measures { heap: true, ..measures },
        _ => return None,
    })
}

pub(super) fn measures(ruby: &Ruby, value: Option<Value>) -> Result<Measures, Error> {
    let Some(value) = value else { return Ok(Measures::default()) };
    let requested = match RArray::from_value(value) {
        Some(modes) => modes.into_iter().try_fold(Measures::NONE, with),
        None => with(Measures::NONE, value),
    };
    let Some(measures) = requested.filter(|it| *it != Measures::NONE) else {
        let allowed = MODES.map(|name| format!(":{name}")).join(", ");
        return Err(wrong_value(ruby, value, |it| {
            format!("mode: {it} is not a mode (allowed: {allowed}, an Array of these)")
        }));
    };
    let why_not = |of, why, allowed| {
        let message = format!("mode: {of} cannot be measured here: {why} (allowed: {allowed})");
        Err(error(ruby, "Unsupported", message))
    };
    if let Some(why) = measures.wall.then(|| wall::no_hooks(ruby)).flatten() {
        return why_not(inspect(value)?, why, ":cpu, :allocations, :heap");
    }
    if let Some(why) = if measures.objects() { no_objects(ruby)? } else { None } {
        return why_not(inspect(value)?, why, ":cpu, :wall");
    }
    if measures.heap && !vm::events::GLOBAL_FREES && vm::process::has_ractors(ruby)? {
        let why = "there are Ractors, and a Ractor that collects garbage does not report what it frees";
        return why_not(inspect(value)?, why, ":cpu, :wall, :allocations");
    }
    Ok(Measures { runnable: measures.wall && !before_3_3::NEEDED, ..measures })
}

/// Returns the reason why objects cannot be sampled, if there is one.
///
/// # Errors
/// Exceptions that were delivered while Ruby was asked.
pub(crate) fn no_objects(ruby: &Ruby) -> Result<Option<&'static str>, Error> {
    let kills = vm::allocations::HOOK_KILLS_RACTORS && vm::process::has_ractors(ruby)?;
    Ok(kills.then_some(
        "there are Ractors, and before Ruby 3.3 an allocation hook crashes a process that has any",
    ))
}

pub(super) fn every(
    ruby: &Ruby,
    measures: Measures,
    objects: Option<Value>,
    bytes: Option<Value>,
) -> Result<Window, Error> {
    let named = [("every", objects), ("every_bytes", bytes)];
    if !measures.objects() {
        only_with(ruby, named, "objects, which need mode: :allocations or :heap")?;
        return Ok(Window::Objects(0));
    }
    either(ruby, named)?;
    if let Some(bytes) = integer(ruby, "every_bytes", bytes, &EVERY_BYTES)? {
        return Ok(Window::Bytes(bytes as u64));
    }
    Ok(Window::Objects(integer(ruby, "every", objects, &EVERY)?.unwrap_or(DEFAULT_EVERY) as u64))
}

/// Fails if one of these options is present, which are for `what`.
pub(super) fn only_with<const N: usize>(
    ruby: &Ruby,
    options: [(&str, Option<Value>); N],
    what: &str,
) -> Result<(), Error> {
    match options.into_iter().find_map(|(name, value)| Some((name, value?))) {
        None => Ok(()),
        Some((name, value)) => Err(wrong_value(ruby, value, |it| format!("{name}: {it} applies to {what}"))),
    }
}
