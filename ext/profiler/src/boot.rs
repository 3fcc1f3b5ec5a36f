//! The preparations at load, once.

use magnus::{Error, Ruby};

use crate::vm::{fibers, methods, modules, threads};

/// Asks at once for Ruby's own methods that are needed later, before an app puts others in their place.
///
/// # Errors
/// What Ruby raises: the extension cannot work then.
pub(crate) fn ask_at_load(ruby: &Ruby) -> Result<(), Error> {
    threads::ask_at_load(ruby)?;
    methods::ask_at_load(ruby)?;
    modules::ask_at_load(ruby)?;
    fibers::ask_at_load(ruby)
}
