//! The names for blocks of memory: of the libraries that allocated them, and of what owns them.

use super::libraries::Libraries;
use super::name_list::NameList;

/// The name of owners for which there is no space.
const OTHERS: &str = "(other owners)";

/// The names for blocks, by the numbers in records and rows.
#[derive(Debug, Default)]
pub struct BlockNames {
    /// The libraries.
    pub libraries: Libraries,
    /// The owners, as a copy of the process found them.
    pub owners: NameList,
}

impl BlockNames {
    /// Returns the name of the owner with that number.
    #[must_use]
    pub fn owner(&self, number: u32) -> &str {
        self.owners.name(number).unwrap_or(OTHERS)
    }
}
