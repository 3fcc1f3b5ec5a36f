//! The memory of another process, its libraries, and the unused ends of their pages.

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use profiler_core::attach::symbols::{RemoteLibrary, Segment};
use profiler_core::attach::RemoteMemory;
use profiler_core::memory::mapping::{Backing, Mapping, PAGE};

/// The memory that a process had when this was opened. After the process has called exec, nothing can be read
/// or written any more.
#[derive(Debug)]
pub(super) struct OtherMemory(pub(super) File);

impl OtherMemory {
    pub(super) fn open(pid: i32) -> io::Result<Self> {
        OpenOptions::new().read(true).write(true).open(format!("/proc/{pid}/mem")).map(Self)
    }

    /// Writes bytes, even into pages that are read-only for the process.
    pub(super) fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all_at(bytes, address)
    }
}

impl RemoteMemory for OtherMemory {
    fn read(&self, address: u64, into: &mut [u8]) -> bool {
        self.0.read_exact_at(into, address).is_ok()
    }
}

/// A loaded library with the path of its file.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) path: String,
    pub(super) library: RemoteLibrary,
}

/// The mappings of a process.
#[derive(Debug)]
pub(super) struct Mappings(String);

impl Mappings {
    pub(super) fn read(pid: i32) -> io::Result<Self> {
        // The path of a file need not be UTF-8.
        let bytes = std::fs::read(format!("/proc/{pid}/maps"))?;
        Ok(Self(String::from_utf8_lossy(&bytes).into_owned()))
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }

    fn rows(&self) -> impl Iterator<Item = Mapping<'_>> {
        self.0.lines().filter_map(|line| Mapping::parse(line.as_bytes()))
    }

    /// Returns the mapping that contains an address.
    pub(super) fn at(&self, address: u64) -> Option<Mapping<'_>> {
        self.rows().find(|row| (row.start..row.end).contains(&address))
    }

    /// Returns all libraries and the program itself, ordered by address.
    pub(super) fn libraries(&self, memory: &OtherMemory) -> Vec<Loaded> {
        let mut last: &[u8] = b"";
        let mut found = Vec::new();
        for row in self.rows() {
            if row.backing() == Backing::File && row.path != last {
                last = row.path;
                if let Some(library) = RemoteLibrary::read(memory, row.start) {
                    found.push(Loaded { path: String::from_utf8_lossy(row.path).into_owned(), library });
                }
            }
        }
        found
    }

    /// Returns the address of the unused end of a segment's last page. Returns `None` if fewer than `bytes`
    /// are unused, if they are neither zero nor begin with `own`, or if the mapping is shared or fails
    /// `is_fit`.
    pub(super) fn unused(
        &self,
        memory: &OtherMemory,
        segment: Segment,
        bytes: usize,
        own: &[u8],
        is_fit: impl Fn(&Mapping<'_>) -> bool,
    ) -> Option<u64> {
        let start = segment.end.next_multiple_of(16);
        let end = segment.end.next_multiple_of(PAGE);
        let mapping = self.at(segment.end.checked_sub(1)?)?;
        if start + bytes as u64 > end || mapping.end < end || mapping.is_shared || !is_fit(&mapping) {
            return None;
        }
        let mut there = vec![0; usize::try_from(end - start).ok()?];
        if !memory.read(start, &mut there) {
            return None;
        }
        (there.starts_with(own) || there.iter().all(|byte| *byte == 0)).then_some(start)
    }
}

/// Returns the address range of a segment.
pub(super) fn range(segment: Segment) -> Range<u64> {
    segment.start..segment.end
}
