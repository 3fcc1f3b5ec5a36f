//! The preparations at load, once.

use magnus::{Error, Ruby};

use crate::vm::{fibers, methods, modules, threads};

/// Looks up at once Ruby's own methods that are needed later, before an app replaces them.
///
/// # Errors
/// The exception that Ruby raises: the extension cannot work then.
pub(crate) fn ask_at_load(ruby: &Ruby) -> Result<(), Error> {
    threads::ask_at_load(ruby)?;
    methods::ask_at_load(ruby)?;
    modules::ask_at_load(ruby)?;
    fibers::ask_at_load(ruby)
}
