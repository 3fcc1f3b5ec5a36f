//! Names that sums of other sessions wait for, as code is forgotten only once it has a name.

use magnus::{Error, Ruby};

use crate::naming;
use crate::shared::CAPTURE;
use crate::vm::turns::Pace;

/// Functions that are named before what is known of them is stored.
const SLICE: usize = 256;

/// Names some of them: a slice, and about as many as the result has that was named just now.
///
/// # Errors
/// Exceptions that were delivered meanwhile. The names are requested again later.
pub(super) fn name_some(ruby: &Ruby, named: usize, pace: Pace) -> Result<(), Error> {
    let Some(hub) = CAPTURE.hub() else { return Ok(()) };
    for _ in 0..=named / SLICE {
        let Some(pending) = hub.pending(SLICE) else { return Ok(()) };
        // SAFETY: they are of a generation of this process, which `pending` keeps.
        match unsafe { naming::functions(ruby, &pending.handles, pace, std::process::id()) } {
            Ok(functions) => hub.name_pending(pending, functions),
            Err(arrived) => {
                hub.forget_pending(pending);
                return Err(arrived);
            }
        }
    }
    Ok(())
}
