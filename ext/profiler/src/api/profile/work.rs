//! Questions to profiles that are answered without the GVL.
//!
//! A profile never changes, and its work shares it, so its object may be collected while the work runs. Small questions
//! are answered directly, as a thread for them would take longer; but files and texts always run without the
//! GVL, because disks can hang and names can be long.

use std::sync::Arc;

use magnus::typed_data::Obj;
use magnus::{Error, RArray, Ruby, TryConvert};
use profiler_core::profile::Profile as CoreProfile;

use crate::api::profile::Profile;
use crate::vm::without_gvl::without_gvl;

/// The size below which profiles, together, are small: any computation on them takes milliseconds, since a
/// question visits the frames of all rows at most.
const SMALL_BYTES: usize = 64 << 10;

/// Returns the profiles of an array.
pub(super) fn all(profiles: RArray) -> Result<Vec<Arc<CoreProfile>>, Error> {
    let core = |value| Obj::<Profile>::try_convert(value).map(|profile| Arc::clone(&profile.core));
    profiles.into_iter().map(core).collect()
}

/// Runs a computation on the profiles.
///
/// # Errors
/// Same as for [`without_gvl`].
pub(super) fn on<T: Send + 'static>(
    ruby: &Ruby,
    profiles: Vec<Arc<CoreProfile>>,
    compute: impl FnOnce(&[&CoreProfile]) -> T + Send + 'static,
) -> Result<T, Error> {
    let compute = move || compute(&profiles.iter().map(|it| &**it).collect::<Vec<_>>());
    without_gvl(ruby, move |_| compute())
}

impl Profile {
    /// Runs a computation on the profile.
    ///
    /// # Errors
    /// Same as for [`without_gvl`].
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

    /// Returns the profile that `compute` derives from this one.
    ///
    /// # Errors
    /// Same as for [`without_gvl`].
    pub(super) fn derive(
        &self,
        ruby: &Ruby,
        compute: impl FnOnce(&CoreProfile) -> CoreProfile + Send + 'static,
    ) -> Result<Self, Error> {
        self.ask(ruby, compute).map(Self::new)
    }
}
