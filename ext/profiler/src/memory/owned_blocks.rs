//! The owners of the blocks of malloc that a session has sampled.

use std::collections::BTreeMap;

use magnus::{Error, Ruby};
use profiler_core::memory::owner_name::name_of_owner;
use profiler_core::memory::owners::Owner;
use profiler_core::memory::sampled::NOT_IN_USE;
use profiler_core::sampling::live_objects::LiveObject;
use profiler_core::tables::name_list::NameList;

use super::snapshot::{self, Limits, NoSnapshot};
use crate::vm;

/// Returns the sampled blocks that are live, each with the number of its owner's name in `names`, as a copy of
/// the process found them at one instant; or why there is no copy. Blocks that malloc knows to be free are
/// left out: they were freed by code that is not seen.
///
/// # Errors
/// Exceptions that other threads deliver during the call.
pub(crate) fn owned_blocks(ruby: &Ruby, names: &NameList) -> Result<Result<Vec<LiveObject>, String>, Error> {
    let sizes = vm::heap::sizes(ruby)?;
    let found = match snapshot::take(ruby, &sizes, Limits::default(), None, true) {
        Ok((found, _)) => found,
        Err(NoSnapshot::Refused(_, why)) => return Ok(Err(why)),
        Err(NoSnapshot::Arrived(arrived)) => return Err(arrived),
    };
    let is_walked = found.report().broken_chains == 0;
    let mut numbers: BTreeMap<Owner, Option<u32>> = BTreeMap::new();
    let mut number_of = |owner: Owner| {
        let name = || name_of_owner(owner, found.report(), |class| found.class_name(class));
        // A number without a name stands for the owners for whose names there is no space.
        Some(numbers.entry(owner).or_insert_with(|| names.number(&name())).unwrap_or(u32::MAX))
    };
    let blocks = found.blocks().iter().filter(|it| it.owner != NOT_IN_USE || !is_walked);
    Ok(Ok(blocks.map(|it| it.live(number_of(it.owner))).collect()))
}
