//! The owners of sampled blocks of malloc, as a copy of the process finds them.

use ::core::option::Option;
use ::core::prelude::rust_2021::*;

use super::index::Index;
use super::owners::{Owner, NOBODY};
use crate::record::ObjectId;
use crate::sampling::live_objects::LiveObject;

/// The owner of blocks that are in no chunk which is in use: they were freed by code that was not seen, or are
/// in a part of an arena that could not be walked.
pub const NOT_IN_USE: Owner = Owner::MAX;

/// A sampled block and its owner. Zeros are a valid value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct OwnedBlock {
    slot: u32,
    generation: u32,
    objects: u64,
    bytes: u64,
    allocated_at: u64,
    recorded: u32,
    /// The owner, with flags.
    pub owner: Owner,
}

impl OwnedBlock {
    fn new(block: &LiveObject, owner: Owner) -> Self {
        let ObjectId { slot, generation } = block.id;
        Self {
            slot,
            generation,
            objects: block.objects,
            bytes: block.bytes,
            allocated_at: block.allocated_at,
            recorded: block.recorded.into(),
            owner,
        }
    }

    /// Returns the block, with the number of its owner's name.
    #[must_use]
    pub fn live(&self, owner: Option<u32>) -> LiveObject {
        LiveObject {
            id: ObjectId { slot: self.slot, generation: self.generation },
            objects: self.objects,
            bytes: self.bytes,
            allocated_at: self.allocated_at,
            recorded: self.recorded != 0,
            owner,
        }
    }
}

/// The sampled blocks of a process with their owners, `MOST` at most. Zeros are an empty list.
#[derive(Debug)]
#[repr(C)]
pub struct OwnedBlocks<const MOST: usize> {
    count: u64,
    rows: [OwnedBlock; MOST],
}

impl<const MOST: usize> OwnedBlocks<MOST> {
    /// Fills the list: finds the chunk of each block, and the chunk's owner.
    pub fn fill(
        &mut self,
        index: &Index<'_>,
        owners: &[Owner],
        blocks: impl Iterator<Item = (u64, LiveObject)>,
    ) {
        self.count = 0;
        for ((address, block), row) in blocks.zip(&mut self.rows) {
            let chunk = index.find(address);
            let owner = chunk.map_or(NOT_IN_USE, |chunk| owners.get(chunk).copied().unwrap_or(NOBODY));
            *row = OwnedBlock::new(&block, owner);
            self.count += 1;
        }
    }

    /// Returns the rows.
    #[must_use]
    pub fn rows(&self) -> &[OwnedBlock] {
        self.rows.get(..self.count as usize).unwrap_or(&self.rows)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::memory::index::Chunks;
    use ::std::{assert_eq, vec, vec::Vec};

    #[test]
    fn blocks_have_the_owners_of_their_chunks() {
        let (mut chunks, mut spans, mut firsts) = (vec![], vec![], Vec::<u32>::new());
        let mut all = Chunks::new(&mut chunks, &mut spans, &mut firsts);
        all.add_block(0x10000, 0x3000);
        all.add_block(0x20000, 0x3000);
        let index = Index::new(&chunks, &spans, &firsts);
        let block = |slot: u32| LiveObject {
            id: ObjectId { slot, generation: 7 },
            objects: 2,
            bytes: 100,
            allocated_at: 5,
            recorded: true,
            owner: None,
        };
        let mut found = OwnedBlocks::<3> { count: 0, rows: [OwnedBlock::new(&block(0), NOBODY); 3] };
        let addresses = [0x20010, 0x10010, 0x30010];
        found.fill(&index, &[4, NOBODY], addresses.into_iter().zip([1, 2, 3].map(block)));
        assert_eq!(found.rows().iter().map(|it| it.owner).collect::<Vec<_>>(), [NOBODY, 4, NOT_IN_USE]);
        assert_eq!(found.rows()[1].live(Some(9)), LiveObject { owner: Some(9), ..block(2) });
    }
}
