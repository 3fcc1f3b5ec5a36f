//! The mappings whose pages are looked at one by one: private memory that can be written.

use ::core::matches; // not in the prelude of Rust 1.85
use ::core::option::Option::{self, None, Some};
use ::core::prelude::rust_2021::*;

use super::mapping::{Backing, Mapping};

/// The kind of a region, as far as its line in the list of mappings tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegionKind {
    /// Malloc's main arena.
    Heap,
    /// The stack of the main thread.
    MainStack,
    /// The stack of a fiber.
    FiberStack,
    /// Code that a JIT writes.
    Jit,
    /// The data of a library that comes from its file.
    Data,
    /// The memory without a file that follows: the zeroed part of the library's data, and maybe more.
    ZeroedData,
    /// Anything else without a file.
    Anonymous,
}

/// A region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The first address.
    pub start: u64,
    /// The address after the last.
    pub end: u64,
    /// The index of its first page in the table of states.
    pub first_state: usize,
    /// The kind.
    pub kind: RegionKind,
    /// The number of the file whose data it is.
    pub library: usize,
}

impl Region {
    /// Returns whether the address is inside.
    #[must_use]
    pub fn contains(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }
}

/// A mapping with what it is to the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'text> {
    /// The mapping.
    pub mapping: Mapping<'text>,
    /// The number of its file, in the order in which files come.
    pub file: Option<usize>,
    /// The region that it makes, if its pages are looked at.
    pub region: Option<Region>,
}

/// The mappings of a list, with their regions.
pub struct Regions<'text> {
    text: &'text [u8],
    /// The bytes of a fiber's stack; 0 if unknown.
    fiber_bytes: u64,
    /// The mapping before.
    before: Option<Mapping<'text>>,
    /// The file to whose data the mapping before belongs.
    data_of: Option<&'text [u8]>,
    states: usize,
    files: usize,
    last_file: &'text [u8],
}

impl<'text> Regions<'text> {
    /// Reads the text of `/proc/self/maps`. Fibers have stacks of `fiber_bytes`, or of a few pages more.
    #[must_use]
    pub fn new(text: &'text [u8], fiber_bytes: u64) -> Self {
        Self { text, fiber_bytes, before: None, data_of: None, states: 0, files: 0, last_file: b"" }
    }

    /// Returns the kind of a mapping; `None` if its pages are not looked at.
    fn kind(&mut self, mapping: &Mapping<'text>) -> Option<RegionKind> {
        let is_adjacent = self.before.is_some_and(|it| it.end == mapping.start);
        let data_of = self.data_of.take();
        match mapping.backing() {
            _ if !mapping.is_readable => None,
            Backing::Heap => Some(RegionKind::Heap),
            Backing::MainStack => Some(RegionKind::MainStack),
            Backing::File => (mapping.is_writable).then(|| {
                self.data_of = Some(mapping.path);
                RegionKind::Data
            }),
            Backing::Anonymous if mapping.is_executable || has(mapping.path, b"yjit") => {
                Some(RegionKind::Jit)
            }
            Backing::Anonymous if self.is_fiber(mapping) => Some(RegionKind::FiberStack),
            Backing::Anonymous if is_adjacent && data_of.is_some() && mapping.path.is_empty() => {
                Some(RegionKind::ZeroedData)
            }
            Backing::Anonymous => Some(RegionKind::Anonymous),
            Backing::Shared | Backing::Kernel => None,
        }
    }

    fn is_fiber(&self, mapping: &Mapping<'_>) -> bool {
        let guarded = self
            .before
            .is_some_and(|it| it.end == mapping.start && !it.is_readable && it.len() == super::mapping::PAGE);
        let most = self.fiber_bytes + 3 * super::mapping::PAGE;
        guarded && self.fiber_bytes > 0 && (self.fiber_bytes..=most).contains(&mapping.len())
    }

    /// Returns the number of a file.
    fn file(&mut self, mapping: &Mapping<'text>) -> Option<usize> {
        if mapping.backing() != Backing::File {
            return None;
        }
        if self.last_file != mapping.path || self.files == 0 {
            self.last_file = mapping.path;
            self.files += 1;
        }
        Some(self.files - 1)
    }
}

impl<'text> Iterator for Regions<'text> {
    type Item = Entry<'text>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.text.is_empty() {
            let end = self.text.iter().position(|byte| *byte == b'\n').unwrap_or(self.text.len());
            let (line, rest) = self.text.split_at(end);
            self.text = rest.get(1..).unwrap_or(&[]);
            let Some(mapping) = Mapping::parse(line) else { continue };
            let file = self.file(&mapping);
            let kind = self.kind(&mapping);
            self.before = Some(mapping);
            let region = kind.map(|kind| {
                let is_data = matches!(kind, RegionKind::Data | RegionKind::ZeroedData);
                let library = if is_data { self.files.saturating_sub(1) } else { 0 };
                let (start, end, first_state) = (mapping.start, mapping.end, self.states);
                self.states += (mapping.len() / super::mapping::PAGE) as usize;
                Region { start, end, first_state, kind, library }
            });
            return Some(Entry { mapping, file, region });
        }
        None
    }
}

/// Returns whether a word is in a name.
fn has(name: &[u8], word: &[u8]) -> bool {
    name.windows(word.len()).any(|it| it == word)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use ::std::{assert_eq, vec, vec::Vec};

    #[test]
    fn tells_kinds_from_lines() {
        let text = b"\
1000-2000 r-xp 00000000 fe:00 1 /bin/ruby
2000-3000 rw-p 00001000 fe:00 1 /bin/ruby
3000-5000 rw-p 00000000 00:00 0 [heap]
6000-7000 ---p 00000000 00:00 0 \n\
7000-9000 rw-p 00000000 00:00 0 \n\
a000-b000 rw-p 00000000 fe:00 2 /lib/a.so
b000-c000 rw-p 00000000 00:00 0 \n\
c000-d000 rw-p 00000000 00:00 0 \n\
e000-f000 r-xp 00000000 00:00 0 \n\
f000-10000 rw-s 00000000 00:05 7 /dev/zero (deleted)
10000-11000 r--p 00000000 00:00 0 [vvar]
7ffe0000-7fff0000 rw-p 00000000 00:00 0 [stack]
";
        let found: Vec<_> = Regions::new(text, 0x2000)
            .filter_map(|entry| entry.region)
            .map(|region| (region.start, region.kind, region.library))
            .collect();
        let data = RegionKind::Data;
        assert_eq!(
            found,
            vec![
                (0x2000, data, 0),
                (0x3000, RegionKind::Heap, 0),
                (0x7000, RegionKind::FiberStack, 0),
                (0xa000, data, 1),
                (0xb000, RegionKind::ZeroedData, 1),
                (0xc000, RegionKind::Anonymous, 0),
                (0xe000, RegionKind::Jit, 0),
                (0x7ffe_0000, RegionKind::MainStack, 0),
            ]
        );
        let states: Vec<usize> =
            Regions::new(text, 0).filter_map(|entry| entry.region).map(|it| it.first_state).collect();
        let files: Vec<_> = Regions::new(text, 0).filter_map(|entry| entry.file).collect();
        assert_eq!(files, [0, 0, 1]);
        assert_eq!(states, [0, 1, 3, 5, 6, 7, 8, 9]);
    }
}
