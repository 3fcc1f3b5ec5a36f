//! The check whether the wall clock can be measured here.

use magnus::{Error, Ruby};
use profiler_core::profile::Note;
use profiler_core::ticking::engine::Engine;

use crate::before_3_3;
use crate::vm;

/// Returns the reason why the VM's hooks on waits cannot be used, or `None` if they can, or do not exist.
pub(super) fn no_hooks(_gvl: &Ruby) -> Option<&'static str> {
    // SAFETY: a `Ruby` proves that the GVL is held.
    unsafe { vm::gvl::unavailable() }
}

/// Returns the note about waits for the reader of a profile, if there is one. An error states why no such
/// profile is possible with that engine. `danger` is the reason why stacks cannot be walked at every
/// instruction.
pub(super) fn note(engine: Engine, danger: Option<&str>) -> Result<Option<Note>, String> {
    match engine {
        _ if !before_3_3::NEEDED => Ok(None),
        Engine::Safepoint => Err(format!(
            "{}: {}",
            before_3_3::NEEDS_SIGNALS,
            danger.unwrap_or("engine :safepoint was requested")
        )),
        _ => Ok(Some(Note::WaitsSampled {})),
    }
}

/// Returns the reason why `:wall` cannot be measured in this process, or `None` if it can.
///
/// # Errors
/// Exceptions that were delivered while Ruby was asked.
pub(crate) fn why_not(ruby: &Ruby) -> Result<Option<String>, Error> {
    let danger = vm::process::unsafe_to_walk(ruby)?;
    let unseen = || note(Engine::Safepoint, Some(danger.as_deref()?)).err();
    Ok(no_hooks(ruby).map(Into::into).or_else(unseen))
}
