//! The ledger of this process's memory, and what is done with ledgers: lines of JSON, as they travel and are
//! kept.

use magnus::{function, prelude::*, Error, RArray, RModule, Ruby};
use profiler_core::memory::diff::LedgerDiff;
use profiler_core::memory::ledger::Ledger;

use crate::errors::argument_error;

/// Implements `Native.ledger(owners, force, why, max_pause)`: returns the ledger of this process as JSON. With `why`, the name
/// and the classes of objects, it also says why these are alive, and returns the objects on their paths.
#[cfg(target_os = "linux")]
fn ledger(
    ruby: &Ruby,
    owners: bool,
    force: bool,
    why: Option<(String, RArray)>,
    max_pause: Option<f64>,
) -> Result<(String, Option<RArray>), Error> {
    use crate::memory::{ledger, ledger_with_owners, HeldObjects, Limits};
    let program = crate::control::program();
    if !owners {
        return Ok((ledger(ruby, program)?.json(), None));
    }
    let wanted = why.map(|(name, classes)| HeldObjects::new(ruby, name, classes)).transpose()?;
    let limits = Limits { force, max_pause: max_pause.map(std::time::Duration::from_secs_f64) };
    let (ledger, objects) = ledger_with_owners(ruby, program, limits, wanted.as_ref())?;
    Ok((ledger.json(), objects))
}

/// Refuses `Native.ledger`.
#[cfg(not(target_os = "linux"))]
fn ledger(
    ruby: &Ruby,
    _owners: bool,
    _force: bool,
    _why: Option<(String, RArray)>,
    _max_pause: Option<f64>,
) -> Result<(String, Option<RArray>), Error> {
    let why = "the ledger of memory needs Linux";
    Err(crate::vm::exceptions::error(ruby, "Unsupported", why))
}

/// Implements `Native.memory_row`: returns the memory of this process now, as a row of a profile, in JSON.
#[cfg(target_os = "linux")]
fn row(ruby: &Ruby) -> Result<String, Error> {
    crate::memory::row(ruby).map(|row| row.json())
}

/// Refuses `Native.memory_row`.
#[cfg(not(target_os = "linux"))]
fn row(ruby: &Ruby) -> Result<String, Error> {
    Err(crate::vm::exceptions::error(ruby, "Unsupported", "the ledger of memory needs Linux"))
}

fn parse(ruby: &Ruby, json: &str) -> Result<Ledger, Error> {
    Ledger::parse(json).map_err(|why| argument_error(ruby, why))
}

/// Implements `Native.ledger_text(json)`: returns a ledger as text for people.
fn text(ruby: &Ruby, json: String) -> Result<String, Error> {
    Ok(parse(ruby, &json)?.text())
}

/// Implements `Native.ledger_diff(before, after)`: returns what changed, as JSON and as text.
fn diff(ruby: &Ruby, before: String, after: String) -> Result<(String, String), Error> {
    let diff = LedgerDiff::new(&parse(ruby, &before)?, &parse(ruby, &after)?);
    Ok((diff.json(), diff.text()))
}

/// Defines the functions.
pub(super) fn init(native: RModule) -> Result<(), Error> {
    native.define_singleton_method("ledger", function!(ledger, 4))?;
    native.define_singleton_method("memory_row", function!(row, 0))?;
    native.define_singleton_method("ledger_text", function!(text, 1))?;
    native.define_singleton_method("ledger_diff", function!(diff, 2))?;
    Ok(())
}
