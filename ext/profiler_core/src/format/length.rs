//! The length of a text in which each stack is written out, computed before the text is written.
//!
//! A frame takes one byte in a file that is read, but its name can have millions. Without a limit, a small
//! file could fill a disk.

use crate::error::Error;
use crate::ids::{FunctionId, Id, StackId};
use crate::profile::Profile;

/// The maximum number of bytes of a text that is written to a file.
pub(super) const IN_A_FILE: u64 = 16 << 30;

/// The maximum number of bytes of a text that is held in memory.
pub(super) const IN_MEMORY: u64 = 2 << 30;

/// The maximum number of bytes of a picture: browsers open none that is larger.
pub(super) const IN_A_PICTURE: u64 = 128 << 20;

/// The memory of a frame besides its name.
const A_FRAME: u64 = 16;

/// The lengths of stacks by index, with all names of their frames.
pub(super) struct Lengths(Vec<u64>);

impl Lengths {
    pub(super) fn of_stacks(profile: &Profile) -> Self {
        let function = |it: &crate::profile::Node| profile.frame(it.frame).map(|it| it.function);
        let stacks = profile.stacks.iter();
        Self::new(profile, stacks.map(|it| (it.parent.map(StackId::index), function(it))))
    }

    /// Computes the lengths of stacks from the indices of their callers, which are smaller, and from their
    /// functions.
    pub(super) fn new(
        profile: &Profile,
        stacks: impl Iterator<Item = (Option<usize>, Option<FunctionId>)>,
    ) -> Self {
        let mut lengths: Vec<u64> = Vec::new();
        for (caller, function) in stacks {
            let caller = caller.and_then(|it| lengths.get(it).copied()).unwrap_or(0);
            lengths.push(caller.saturating_add(name(profile, function)).saturating_add(A_FRAME));
        }
        Self(lengths)
    }

    /// Checks that the stacks at these indexes have a total length of at most `most`.
    ///
    /// # Errors
    /// Returns [`Error::TooLong`] if they are longer.
    pub(super) fn check(&self, places: impl Iterator<Item = usize>, most: u64) -> Result<(), Error> {
        check(places.map(|it| self.0.get(it).copied().unwrap_or(0)), most)
    }
}

fn name(profile: &Profile, function: Option<FunctionId>) -> u64 {
    function.and_then(|it| profile.function(it)).map_or(0, |it| it.name.len() as u64)
}

/// Checks that the sum of the lengths is at most `most`.
///
/// # Errors
/// Returns [`Error::TooLong`] if it is larger.
pub(super) fn check(lengths: impl Iterator<Item = u64>, most: u64) -> Result<(), Error> {
    let length = lengths.fold(0_u64, u64::saturating_add);
    if length > most {
        return Err(Error::TooLong { bytes: length, limit: most });
    }
    Ok(())
}
