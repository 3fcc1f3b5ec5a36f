//! The result of a snapshot, in a form that two processes can share: only numbers, in tables of fixed sizes.

use ::core::option::Option::{self, None, Some};
use ::core::prelude::rust_2021::*;

use super::slots::HeapSlot;

/// The kinds of resident memory that a snapshot tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum MemoryKind {
    /// Chunks of malloc that Ruby objects refer to.
    OfObjects,
    /// Chunks that the data of libraries refer to.
    OfLibraries,
    /// Chunks that only stacks refer to.
    OfStacks,
    /// Chunks that only memory without a name refers to.
    OfUnnamed,
    /// Chunks that nothing refers to.
    Unreferenced,
    /// Free chunks.
    Free,
    /// The free ends of arenas.
    Top,
    /// Free chunks that threads keep (tcache), and those in fast bins.
    Cached,
    /// The data of the arenas themselves.
    Arena,
    /// Memory behind a broken chain of chunks.
    Broken,
    /// Live objects in the pages of Ruby's heap.
    LiveSlots,
    /// Free slots in pages that have live objects.
    FreeSlots,
    /// Pages of Ruby's heap without a live object.
    EmptyPages,
    /// The main thread's stack.
    MainStack,
    /// Stacks of other threads.
    ThreadStacks,
    /// Stacks of fibers.
    FiberStacks,
    /// Code of a JIT.
    Jit,
    /// Ruby's transient heap.
    TransientHeap,
    /// Written data of libraries.
    LibraryData,
    /// Anonymous memory without a name.
    Unnamed,
    /// Malloc's main arena, where its chunks were not walked.
    MainArena,
    /// The arenas of threads, where their chunks were not walked.
    ThreadArenas,
    /// Blocks that malloc mapped each for itself, where they were not walked.
    Blocks,
    /// Pages of Ruby's heap, where their slots were not read.
    RubyPages,
    /// The snapshot's own tables, which are not in the ledger.
    Own,
}

/// The number of kinds.
pub const KINDS: usize = MemoryKind::Own as usize + 1;
/// The room for owners.
pub const OWNERS: usize = 8_192;
/// The room for arenas.
pub const ARENAS: usize = 256;
/// The room for sizes of unreferenced chunks.
pub const SIZES: usize = 512;
/// The room for files.
pub const FILES: usize = 512;
/// The bytes of a path that are kept, from its end.
pub const PATH: usize = 120;

/// The number that stands for memory of stacks among the keys of owners. Those below are types of objects
/// ([`HeapSlot::type_number`]), those above are files, and then addresses of classes.
pub const STACKS: u64 = HeapSlot::TYPES;
/// The key of anonymous memory without a name.
pub const UNNAMED: u64 = HeapSlot::TYPES + 1;
/// The key of all owners for which there was no room.
pub const OTHERS: u64 = HeapSlot::TYPES + 2;
/// The key of the first file.
pub const FILE: u64 = HeapSlot::TYPES + 16;

/// A sum of resident memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ResidentSum {
    /// Resident bytes.
    pub bytes: u64,
    /// Chunks, slots, stacks or pages.
    pub count: u64,
}

impl ResidentSum {
    /// Counts one more, of `bytes`.
    pub fn add(&mut self, bytes: u64) {
        self.bytes += bytes;
        self.count += 1;
    }
}

/// Sums by [`MemoryKind`].
pub type Kinds = [ResidentSum; KINDS];

/// Adds to a kind.
pub fn add_to(kinds: &mut Kinds, kind: MemoryKind, bytes: u64) {
    if let Some(sum) = kinds.get_mut(kind as usize) {
        sum.add(bytes);
    }
}

/// The memory of one owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct OwnerSum {
    /// The key of the owner: see [`STACKS`].
    pub key: u64,
    /// Whether the row is in use.
    pub is_used: u64,
    /// The owner's slots in Ruby's heap.
    pub slots: ResidentSum,
    /// Chunks that it refers to.
    pub own: ResidentSum,
    /// Chunks behind those.
    pub behind: ResidentSum,
}

/// An arena of malloc.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ArenaSum {
    /// The address of its data; 0 is the main arena.
    pub address: u64,
    /// Whether the row is in use.
    pub is_used: u64,
    /// Resident bytes in use.
    pub used: u64,
    /// Resident bytes of free chunks.
    pub free: u64,
    /// Resident bytes of its top.
    pub top: u64,
}

/// The unreferenced chunks of one size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct SizeSum {
    /// The size of each chunk.
    pub size: u64,
    /// The sum of these chunks.
    pub sum: ResidentSum,
}

/// A file that is mapped.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct FileSum {
    /// The end of its path.
    pub path: [u8; PATH],
    /// The length of that.
    pub path_len: u64,
    /// Unreferenced chunks that refer to its code or constants.
    pub hinted: ResidentSum,
}

impl FileSum {
    /// Keeps the end of a path.
    pub fn set_path(&mut self, path: &[u8]) {
        let path = path.get(path.len().saturating_sub(PATH)..).unwrap_or(path);
        self.path_len = path.len() as u64;
        self.path.iter_mut().zip(path).for_each(|(place, byte)| *place = *byte);
    }

    /// Returns the path that was kept.
    #[must_use]
    pub fn path(&self) -> &[u8] {
        self.path.get(..self.path_len as usize).unwrap_or(&[])
    }
}

/// All that a snapshot found. A report of zeros is an empty one.
#[derive(Debug)]
#[repr(C)]
pub struct Report {
    /// The step that was reached; [`DONE`] at the end.
    pub stage: u64,
    /// Sums by [`MemoryKind`].
    pub kinds: Kinds,
    /// Chunks in use and kept by threads, in all their bytes, as malloc itself counts them.
    pub in_use_bytes: u64,
    /// Free chunks in all their bytes, tops and fast bins included, as malloc itself counts them.
    pub free_bytes: u64,
    /// Bytes of blocks that malloc mapped, as it counts them.
    pub mapped_bytes: u64,
    /// Whole resident pages inside of free chunks, in bytes.
    pub trimmable: u64,
    /// Bytes in swap of the regions.
    pub swapped: u64,
    /// Chains that are broken.
    pub broken_chains: u64,
    /// Owners, by a hash of their keys.
    pub owners: [OwnerSum; OWNERS],
    /// Arenas, in the order in which they were found.
    pub arenas: [ArenaSum; ARENAS],
    /// Sizes of unreferenced chunks, by a hash.
    pub sizes: [SizeSum; SIZES],
    /// Files, by their numbers.
    pub files: [FileSum; FILES],
}

/// The stage of a report that is whole.
pub const DONE: u64 = 100;

impl Report {
    /// Adds to a kind.
    pub fn add(&mut self, kind: MemoryKind, bytes: u64) {
        add_to(&mut self.kinds, kind, bytes);
    }

    /// Returns the number of an owner, from 1 on. If there is no room, all further owners are one.
    pub fn owner(&mut self, key: u64) -> u32 {
        let found = probe(key, OWNERS, |place| match self.owners.get(place) {
            Some(row) if row.is_used != 0 => Some(row.key == key),
            _ => None,
        });
        match found {
            Some(place) => {
                if let Some(row) = self.owners.get_mut(place) {
                    (row.key, row.is_used) = (key, 1);
                }
                place as u32 + 1
            }
            None if key == OTHERS => 1,
            None => self.owner(OTHERS),
        }
    }

    /// Returns the key of an owner by its number.
    #[must_use]
    pub fn owner_key(&self, number: u32) -> Option<u64> {
        let row = self.owners.get((number as usize).checked_sub(1)?)?;
        Some(row.key)
    }

    /// Returns the row of an owner by its number.
    pub fn owner_row(&mut self, number: u32) -> Option<&mut OwnerSum> {
        self.owners.get_mut((number as usize).checked_sub(1)?)
    }

    /// Returns the row of an arena. The last one is for all for which there is no room.
    pub fn arena(&mut self, address: u64) -> Option<&mut ArenaSum> {
        let is_it = |row: &ArenaSum| row.is_used == 0 || row.address == address;
        let place = self.arenas.iter().position(is_it).unwrap_or(ARENAS - 1);
        let row = self.arenas.get_mut(place)?;
        (row.address, row.is_used) = (address, 1);
        Some(row)
    }

    /// Adds an unreferenced chunk.
    pub fn add_unreferenced(&mut self, size: u64, bytes: u64) {
        let found = probe(size, SIZES, |place| match self.sizes.get(place) {
            Some(row) if row.sum.count != 0 => Some(row.size == size),
            _ => None,
        });
        if let Some(row) = found.and_then(|place| self.sizes.get_mut(place)) {
            row.size = size;
            row.sum.add(bytes);
        }
    }
}

/// Returns the place of a key in a table with open addressing: the first that has the key (`Some(true)`) or
/// is empty (`None`).
fn probe(key: u64, room: usize, at: impl Fn(usize) -> Option<bool>) -> Option<usize> {
    let first = (key >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize % room;
    (first..room).chain(0..first).take(room / 4).find(|place| at(*place) != Some(false))
}

#[cfg(all(test, not(loom)))]
pub(super) mod tests {
    use super::*;
    use ::std::boxed::Box;
    use ::std::{assert, assert_eq};

    /// An empty report.
    pub(crate) fn empty() -> Box<Report> {
        let file = FileSum { path: [0; PATH], path_len: 0, hinted: ResidentSum::default() };
        Box::new(Report {
            stage: 0,
            kinds: [ResidentSum::default(); KINDS],
            in_use_bytes: 0,
            free_bytes: 0,
            mapped_bytes: 0,
            trimmable: 0,
            swapped: 0,
            broken_chains: 0,
            owners: [OwnerSum::default(); OWNERS],
            arenas: [ArenaSum::default(); ARENAS],
            sizes: [SizeSum::default(); SIZES],
            files: [file; FILES],
        })
    }

    #[test]
    fn keeps_owners_apart_until_there_is_no_room() {
        let mut report = empty();
        let numbers: ::std::vec::Vec<u32> = (0..40_000).map(|key| report.owner(key * 8 + 0x7000)).collect();
        assert_eq!(report.owner(0x7000), numbers[0]);
        let others = report.owner(OTHERS);
        let mut apart: ::std::vec::Vec<u32> =
            numbers.iter().copied().filter(|number| *number != others).collect();
        let kept = apart.len();
        apart.sort_unstable();
        apart.dedup();
        assert!(apart.len() == kept && kept > OWNERS / 2 && kept < OWNERS, "{kept}");
    }

    #[test]
    fn keeps_the_end_of_a_path() {
        let mut report = empty();
        let path = ::std::format!("/{}/libfoo.so", "x".repeat(300));
        report.files[0].set_path(path.as_bytes());
        assert_eq!(report.files[0].path().len(), PATH);
        assert!(report.files[0].path().ends_with(b"/libfoo.so"));
    }
}
