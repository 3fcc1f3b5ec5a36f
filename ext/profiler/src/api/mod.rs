//! The Ruby classes: what an app calls, and what it gets. A table of contents; each class is a file.

use magnus::{Error, Module, RModule, Ruby};

mod doctor;
mod profile;
mod session;
#[cfg(feature = "testing")]
pub(crate) mod testing;

/// Defines the classes.
pub(crate) fn init(ruby: &Ruby, profiler: RModule) -> Result<(), Error> {
    let native = profiler.define_module("Native")?; // private: sig/profiler/native.rbs
    session::init(ruby, profiler, native)?;
    profile::init(ruby, profiler, native)?;
    doctor::init(profiler)?;
    #[cfg(feature = "testing")]
    testing::init(profiler)?;
    Ok(())
}
