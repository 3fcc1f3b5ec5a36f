//! The measures of a session, and its sampling window of objects.

use std::ops::RangeInclusive;

use magnus::{Error, RArray, Ruby, Symbol, Value};
use profiler_core::sampling::allocation_sampler::Window;
use profiler_core::session::spec::Measures;

use crate::before_3_3;
use crate::capture::malloc;
use crate::errors::{Fault, Piece};
use crate::options::keywords::{either, flag};
use crate::options::numbers::integer;
use crate::options::wall;
use crate::vm;

const EVERY: RangeInclusive<i64> = 1..=1_000_000;
const DEFAULT_EVERY: i64 = 1_000;
/// The range begins above the size of the largest slot.
const EVERY_BYTES: RangeInclusive<i64> = 1_024..=1 << 30;

/// The mean number of bytes between the samples of `:native`.
const DEFAULT_NATIVE_BYTES: u64 = 64 << 10;

/// The modes that can be requested.
const MODES: [&str; 5] = ["cpu", "wall", "allocations", "heap", "native"];

/// Returns the names of a session's measures, as `mode:` spells them.
pub(crate) fn modes(measures: Measures) -> Vec<String> {
    let Measures { cpu, wall, allocations, heap, native, runnable: _ } = measures;
    let on = MODES.into_iter().zip([cpu, wall, allocations, heap, native]).filter(|(_, on)| *on);
    on.map(|(name, _)| name.to_owned()).collect()
}

/// Returns the measures with the one that `mode` names added; `None` if it names none.
fn with(measures: Measures, mode: Value) -> Option<Measures> {
    Some(match &*Symbol::from_value(mode)?.name().ok()? {
        "cpu" => Measures { cpu: true, ..measures },
        "wall" => Measures { wall: true, ..measures },
        "allocations" | "object" => Measures { allocations: true, ..measures },
        "heap" | "retained" => Measures { heap: true, ..measures },
        "native" => Measures { native: true, ..measures },
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
        let pieces = &Piece::none_of(" is not a mode", &MODES, true);
        return Err(Fault { option: "mode", value: Some(value), pieces }.argument_error(ruby));
    };
    let why_not = |why: &str, allowed: &[&'static str]| Err(unmeasurable(ruby, value, why, allowed));
    if let Some(why) = measures.wall.then(|| wall::no_hooks(ruby)).flatten() {
        return why_not(why, &["cpu", "allocations", "heap", "native"]);
    }
    if let Some(why) = if measures.objects() { no_objects(ruby)? } else { None } {
        return why_not(why, &["cpu", "wall", "native"]);
    }
    if measures.native && measures.objects() {
        let why = "bytes of objects and bytes from malloc have the same types, so :native needs a profile of its own";
        return why_not(why, &["cpu", "wall", "native"]);
    }
    if let Some(why) = if measures.native { malloc::redirected::refusal() } else { None } {
        return why_not(&why, &["cpu", "wall", "allocations", "heap"]);
    }
    if measures.heap && !vm::events::GLOBAL_FREES && vm::process::has_ractors(ruby)? {
        let why = "there are Ractors, and a Ractor that collects garbage does not report what it frees";
        return why_not(why, &["cpu", "wall", "allocations", "native"]);
    }
    Ok(Measures { runnable: measures.wall && !before_3_3::NEEDED, ..measures })
}

/// Returns the exception for a mode that cannot be measured in this process.
pub(super) fn unmeasurable(ruby: &Ruby, mode: Value, why: &str, allowed: &[&'static str]) -> Error {
    let pieces = &Piece::none_of(format!(" cannot be measured here: {why}"), allowed, false);
    Fault { option: "mode", value: Some(mode), pieces }.unsupported(ruby)
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
    if measures.native {
        only_with(ruby, [("every", objects)], "objects, which need ", ["allocations", "heap"])?;
        let bytes = integer(ruby, "every_bytes", bytes, &EVERY_BYTES)?;
        return Ok(Window::Bytes(bytes.map_or(DEFAULT_NATIVE_BYTES, |it| it as u64)));
    }
    if !measures.objects() {
        only_with(ruby, named, "objects, which need ", ["allocations", "heap"])?;
        return Ok(Window::Objects(0));
    }
    either(ruby, named)?;
    if let Some(bytes) = integer(ruby, "every_bytes", bytes, &EVERY_BYTES)? {
        return Ok(Window::Bytes(bytes as u64));
    }
    Ok(Window::Objects(integer(ruby, "every", objects, &EVERY)?.unwrap_or(DEFAULT_EVERY) as u64))
}

/// Returns whether to look for the owners of memory from malloc.
pub(super) fn owners(ruby: &Ruby, measures: Measures, value: Option<Value>) -> Result<bool, Error> {
    let wanted = flag(ruby, "owners", value)?;
    if wanted && !measures.native {
        let pieces = &[
            Piece::text(" applies to memory from malloc, which needs "),
            Piece::Option("mode"),
            Piece::text(" "),
            Piece::Choice("native"),
        ];
        return Err(Fault { option: "owners", value: None, pieces }.argument_error(ruby));
    }
    Ok(wanted)
}

/// Fails if one of these options is present, which are for `what` in one of two modes.
pub(super) fn only_with<const N: usize>(
    ruby: &Ruby,
    options: [(&'static str, Option<Value>); N],
    what: &str,
    [first, second]: [&'static str; 2],
) -> Result<(), Error> {
    let Some((option, value)) = options.into_iter().find(|(_, value)| value.is_some()) else { return Ok(()) };
    let pieces = &[
        Piece::text(format!(" applies to {what}")),
        Piece::Option("mode"),
        Piece::text(" "),
        Piece::Choice(first),
        Piece::text(" or "),
        Piece::Choice(second),
    ];
    Err(Fault { option, value, pieces }.argument_error(ruby))
}
