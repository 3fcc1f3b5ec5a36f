//! Names that sums of running sessions wait for, as code is forgotten only once it has a name.

use magnus::{Error, Ruby};
use profiler_core::pipeline::hub::{Hub, Pending};
use profiler_core::profile::Function;

use crate::naming;
use crate::naming::turns::Pace;
use crate::shared::CAPTURE;
use crate::vm::without_gvl::briefly_without_gvl;

/// The number of functions that are named before the result so far is stored.
const SLICE: usize = 256;

/// Names some of the pending functions: one slice, and about as many more as the result has that was just
/// named.
///
/// # Errors
/// Exceptions that other threads deliver during the call. The names are requested again later.
pub(crate) fn name_some(ruby: &Ruby, named: usize, pace: Pace) -> Result<(), Error> {
    let Some(hub) = CAPTURE.hub() else { return Ok(()) };
    for _ in 0..=named / SLICE {
        let Some(pending) = hub.pending(SLICE) else { return Ok(()) };
        let (pending, functions) = name(ruby, hub, pending, pace)?;
        hub.name_pending(pending, functions);
    }
    Ok(())
}

/// Names all pending functions, a generation at a time. Other threads run in between.
///
/// # Errors
/// Same as for [`name_some`].
pub(crate) fn name_all(ruby: &Ruby, hub: &Hub) -> Result<(), Error> {
    while let Some(pending) = briefly_without_gvl(ruby, || hub.pending(usize::MAX)) {
        let (pending, functions) = name(ruby, hub, pending, Pace::Yielding)?;
        briefly_without_gvl(ruby, || hub.name_pending(pending, functions));
    }
    Ok(())
}

/// Names the places of live objects that otherwise last as long as the code there.
///
/// # Errors
/// Same as for [`name_some`].
pub(crate) fn name_places(ruby: &Ruby, hub: &Hub) -> Result<(), Error> {
    let places = briefly_without_gvl(ruby, || hub.places_without_names());
    let (places, functions) = name(ruby, hub, places, Pace::Yielding)?;
    briefly_without_gvl(ruby, || hub.name_pending(places, functions));
    Ok(())
}

fn name(ruby: &Ruby, hub: &Hub, pending: Pending, pace: Pace) -> Result<(Pending, Vec<Function>), Error> {
    // SAFETY: the handles belong to a generation of this process, which `pending` keeps.
    match unsafe { naming::functions(ruby, &pending.handles, pace, std::process::id()) } {
        Ok(functions) => Ok((pending, functions)),
        Err(arrived) => {
            hub.forget_pending(pending);
            Err(arrived)
        }
    }
}
