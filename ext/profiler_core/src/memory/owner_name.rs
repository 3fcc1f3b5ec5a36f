//! The names of owners.

use super::owners::{number, Owner, BEHIND};
use super::report::{FileSum, Report, FILE, FILES, OTHERS, STACKS, UNNAMED};
use super::sampled::NOT_IN_USE;
use super::slots::{type_name, HeapSlot, INTERNAL};

/// The owner of sampled blocks to which nothing refers: they were leaked.
pub const UNREFERENCED: &str = "(unreferenced)";

/// Returns the name of the owner of a sampled block. `class` names a class by its address.
#[must_use]
pub fn name_of_owner(owner: Owner, report: &Report, class: impl Fn(u64) -> Option<String>) -> String {
    if owner == NOT_IN_USE {
        return "(unknown)".to_owned();
    }
    let Some(key) = report.owner_key(number(owner)) else { return UNREFERENCED.to_owned() };
    let name = owner_name(key, report, &class);
    if owner & BEHIND == 0 {
        name
    } else {
        format!("behind {name}")
    }
}

/// Returns the name of an owner by its key.
pub(super) fn owner_name(key: u64, report: &Report, class: &impl Fn(u64) -> Option<String>) -> String {
    match key {
        key if key < HeapSlot::TYPES => format!("{INTERNAL}{}", type_name(key)),
        STACKS => "(stacks)".to_owned(),
        UNNAMED => "(unnamed memory)".to_owned(),
        OTHERS => "(all other classes)".to_owned(),
        key if key < FILE + FILES as u64 => {
            let path = report.files.get((key - FILE) as usize).map(FileSum::path);
            let path = String::from_utf8_lossy(path.unwrap_or_default()).into_owned();
            format!("data of {}", path.rsplit('/').next().unwrap_or(&path))
        }
        key => class(key).unwrap_or_else(|| "(unknown class)".to_owned()),
    }
}
