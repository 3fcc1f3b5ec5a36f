//! The resident pages of the process, and reads of only those.

use ::core::cell::Cell;
use ::core::prelude::rust_2021::*;

use super::mapping::PAGE;
use super::region::Region;

/// The state of a page, in one byte.
pub type PageState = u8;

/// A page that was never touched, or was given back.
pub const ABSENT: PageState = 0;
/// A resident page.
pub const PRESENT: PageState = 1;
/// A page in swap.
pub const SWAPPED: PageState = 2;
/// A guard that ends the process if it is touched. Newer systems do not list it among the mappings.
pub const GUARD: PageState = 3;

/// A resident page of a file that was not written.
pub const OF_FILE: PageState = 4;

/// Returns whether a page in this state can be read.
#[must_use]
pub fn is_readable(state: PageState) -> bool {
    state == PRESENT || state == SWAPPED || state == OF_FILE
}

/// Returns the state of a page from its entry in `/proc/self/pagemap`.
#[must_use]
pub fn state_of(entry: u64) -> PageState {
    let bit = |number: u32| entry >> number & 1 == 1;
    match (bit(63), bit(62)) {
        (true, _) if bit(61) => OF_FILE,
        (true, _) => PRESENT,
        (_, true) if bit(58) => GUARD,
        (_, true) => SWAPPED,
        _ => ABSENT,
    }
}

/// Memory that can be copied from.
pub trait Source {
    /// Copies words from there. Returns false if it cannot.
    fn copy(&self, address: u64, state: PageState, into: &mut [u64]) -> bool;
}

/// The memory of a process: regions, the states of their pages, and their contents.
pub struct Memory<'tables, S> {
    regions: &'tables [Region],
    states: &'tables [PageState],
    source: S,
    /// The region of the last question. The next one is mostly about the same.
    last: Cell<usize>,
}

impl<'tables, S: Source> Memory<'tables, S> {
    /// Creates the view. Regions are in the order of their addresses, and each knows its index in `states`.
    #[must_use]
    pub fn new(regions: &'tables [Region], states: &'tables [PageState], source: S) -> Self {
        Self { regions, states, source, last: Cell::new(0) }
    }

    /// Returns all regions.
    #[must_use]
    pub fn regions(&self) -> &'tables [Region] {
        self.regions
    }

    /// Returns the region of an address.
    #[must_use]
    pub fn region(&self, address: u64) -> Option<&'tables Region> {
        if let Some(last) = self.regions.get(self.last.get()).filter(|it| it.contains(address)) {
            return Some(last);
        }
        let place = self.regions.partition_point(|it| it.end <= address);
        let found = self.regions.get(place).filter(|it| it.contains(address))?;
        self.last.set(place);
        Some(found)
    }

    /// Returns the states of the pages from the one of `start` to the one before `end`. Empty outside of a
    /// region.
    #[must_use]
    pub fn states(&self, start: u64, end: u64) -> &'tables [PageState] {
        let Some(region) = self.region(start) else { return &[] };
        let place = |address: u64| region.first_state + ((address - region.start) / PAGE) as usize;
        let last = end.min(region.end).max(start + 1) - 1;
        self.states.get(place(start)..=place(last)).unwrap_or(&[])
    }

    /// Returns the state of the page of an address.
    #[must_use]
    pub fn state(&self, address: u64) -> PageState {
        self.states(address, address + 1).first().copied().unwrap_or(ABSENT)
    }

    /// Returns the resident bytes that belong to no file of a range that lies in one region.
    #[must_use]
    pub fn resident(&self, start: u64, end: u64) -> u64 {
        let states = self.states(start, end);
        let is_there = |state: Option<&PageState>| u64::from(state == Some(&PRESENT));
        match states.len() {
            0 => 0,
            1 => is_there(states.first()) * (end - start),
            _ => {
                let inner = states.get(1..states.len() - 1).unwrap_or(&[]);
                let pages = inner.iter().filter(|state| **state == PRESENT).count() as u64;
                let first = PAGE - start % PAGE;
                let last = (end - 1) % PAGE + 1;
                is_there(states.first()) * first + pages * PAGE + is_there(states.last()) * last
            }
        }
    }

    /// Copies words of one page. Returns false if the page is not there, or cannot be read.
    pub fn read(&self, address: u64, into: &mut [u64]) -> bool {
        let state = self.state(address);
        is_readable(state) && self.source.copy(address, state, into)
    }

    /// Returns a word, if its page is there.
    #[must_use]
    pub fn word(&self, address: u64) -> Option<u64> {
        let mut word = [0];
        self.read(address & !7, &mut word).then_some(word[0])
    }
}

#[cfg(all(test, not(loom)))]
pub(super) mod tests {
    use super::*;
    use crate::memory::region::RegionKind;
    use ::std::collections::BTreeMap;
    use ::std::{assert_eq, vec, vec::Vec};

    /// A memory of words, for tests.
    #[derive(Default)]
    pub(crate) struct Words(pub(crate) BTreeMap<u64, u64>);

    impl Source for &Words {
        fn copy(&self, address: u64, _state: PageState, into: &mut [u64]) -> bool {
            for (place, word) in into.iter_mut().enumerate() {
                *word = self.0.get(&(address + 8 * place as u64)).copied().unwrap_or(0);
            }
            true
        }
    }

    pub(crate) fn region(start: u64, end: u64, first_state: usize) -> Region {
        Region { start, end, first_state, kind: RegionKind::Anonymous, library: 0 }
    }

    #[test]
    fn decodes_entries() {
        assert_eq!(
            [1 << 63, 1 << 62, 1 << 62 | 1 << 58, 0, 1 << 61, 5 << 61].map(state_of),
            [PRESENT, SWAPPED, GUARD, ABSENT, ABSENT, OF_FILE]
        );
    }

    #[test]
    fn counts_parts_of_pages() {
        let regions = [region(0x1000, 0x5000, 0), region(0x8000, 0x9000, 4)];
        let states = vec![PRESENT, ABSENT, PRESENT, PRESENT, SWAPPED];
        let words = Words(BTreeMap::from([(0x1008, 7), (0x2008, 8), (0x8010, 9)]));
        let memory = Memory::new(&regions, &states, &words);
        let resident: Vec<u64> =
            [(0x1000, 0x5000), (0x1800, 0x1900), (0x1f00, 0x3010), (0x2000, 0x3000), (0x9000, 0xa000)]
                .iter()
                .map(|(start, end)| memory.resident(*start, *end))
                .collect();
        assert_eq!(resident, [3 * PAGE, 0x100, 0x110, 0, 0]);
        assert_eq!(
            [0x1008, 0x2008, 0x8010, 0x7008].map(|it| memory.word(it)),
            [Some(7), None, Some(9), None],
            "only pages that are there are read"
        );
    }
}
