//! Questions to profiles that are answered without the GVL.
//!
//! A profile never changes, and its work shares it: so it may be collected meanwhile. What is small is answered at once, as a
//! thread for it would take longer; but files and texts always take this way, because disks can hang and names be long.

use std::sync::Arc;

use magnus::typed_data::Obj;
use magnus::{Error, RArray, Ruby, TryConvert};
use profiler_core::profile::Profile as CoreProfile;

use crate::api::profile::Profile;
use crate::vm::without_gvl::without_gvl;

/// Profiles that take less memory together are small: whatever is computed of them takes milliseconds, since a question goes
/// through the frames of all rows at most.
const SMALL_BYTES: usize = 64 << 10;

/// The profiles of an array.
pub(super) fn all(profiles: RArray) -> Result<Vec<Arc<CoreProfile>>, Error> {
    let core = |it| Obj::<Profile>::try_convert(it).map(|it| Arc::clone(&it.core));
    profiles.into_iter().map(core).collect()
}

/// Computes something of the profiles.
///
/// # Errors
/// As [`without_gvl`].
pub(super) fn on<T: Send + 'static>(
    ruby: &Ruby,
    profiles: Vec<Arc<CoreProfile>>,
    compute: impl FnOnce(&[&CoreProfile]) -> T + Send + 'static,
) -> Result<T, Error> {
    let compute = move || compute(&profiles.iter().map(|it| &**it).collect::<Vec<_>>());
    without_gvl(ruby, move |_| compute())
}

impl Profile {
    /// Computes something of the profile.
    ///
    /// # Errors
    /// As [`without_gvl`].
    pub(super) fn ask<T: Send + 'static>(
        &self,
        ruby: &Ruby,
        compute: impl FnOnce(&CoreProfile) -> T + Send + 'static,
    ) -> Result<T, Error> {
        if self.memory.bytes() < SMALL_BYTES {
            return Ok(compute(&self.core));
        }
        let core = Arc::clone(&self.core);
        without_gvl(ruby, move |_| compute(&core))
    }

    /// The profile that `compute` makes of this one.
    ///
    /// # Errors
    /// As [`without_gvl`].
    pub(super) fn derive(
        &self,
        ruby: &Ruby,
        compute: impl FnOnce(&CoreProfile) -> CoreProfile + Send + 'static,
    ) -> Result<Self, Error> {
        self.ask(ruby, compute).map(Self::new)
    }
}
