//! The preparations at load, once.

use magnus::{Error, Ruby};

use crate::vm::{fibers, gvl, methods, modules, threads};

/// Looks up Ruby's own methods that are needed later, before an app can replace them, and creates what cannot
/// be created beside Ractors.
///
/// # Errors
/// The exception that Ruby raises: the extension cannot work then.
pub(crate) fn preload(ruby: &Ruby) -> Result<(), Error> {
    threads::preload(ruby)?;
    methods::preload(ruby)?;
    modules::preload(ruby)?;
    fibers::preload(ruby)?;
    // SAFETY: a `Ruby` proves that the GVL is held.
    unsafe { gvl::make_key() };
    Ok(())
}
