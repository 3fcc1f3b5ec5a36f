//! The Ruby classes: what an app calls, and what it gets. A table of contents; each class is a file.

use magnus::{Error, RModule, Ruby};

mod doctor;
mod profile;
mod session;
#[cfg(feature = "testing")]
pub(crate) mod testing;

/// Defines the classes.
pub(crate) fn init(ruby: &Ruby, profiler: RModule) -> Result<(), Error> {
    session::init(ruby, profiler)?;
    profile::init(ruby, profiler)?;
    doctor::init(profiler)?;
    #[cfg(feature = "testing")]
    testing::init(profiler)?;
    Ok(())
}
