//! The memory of this process, as its kernel lists it, and reads of it that cannot fault. Nothing here
//! allocates.

use ::core::ffi::{c_int, CStr};
use ::core::prelude::rust_2021::*;

use ::profiler_core::memory::index::Table;
use ::profiler_core::memory::mapping::{Mapping, PAGE};
use ::profiler_core::memory::pages::{state_of, PageState, Source, SWAPPED};
use ::profiler_core::memory::region::{Region, RegionKind, Regions};

use super::mapped_table::MappedTable;

/// The bytes of a list of mappings for which room is made at once, so that its table stays in place.
const LIST_BYTES: usize = 16 << 20;
/// The number of pages whose states are read at once.
const PIECE: usize = 512;
/// The most pages of all regions: 128 GiB.
const MAX_PAGES: u64 = 1 << 25;

/// A file of the kernel about this process.
#[derive(Debug)]
pub(crate) struct OwnFile(c_int);

impl OwnFile {
    /// Opens a file. Returns `None` if the system refuses.
    pub(crate) fn open(path: &CStr) -> Option<Self> {
        // SAFETY: the path is a C string.
        let number = unsafe { ::libc::open(path.as_ptr(), ::libc::O_RDONLY | ::libc::O_CLOEXEC) };
        (number >= 0).then_some(Self(number))
    }

    /// Reads the rest of the file into a table. Returns false if there is no room, or the system refuses.
    pub(crate) fn read_to(&self, text: &mut MappedTable<u8>) -> bool {
        loop {
            if !text.reserve(PAGE as usize * 16) {
                return false;
            }
            let (at, room) = text.spare();
            // SAFETY: the table has `room` bytes there, and the system writes at most these.
            let count = unsafe { ::libc::read(self.0, at.cast(), room) };
            match usize::try_from(count) {
                Ok(0) => return true,
                // SAFETY: the system has written `count` bytes.
                Ok(count) => unsafe { text.add_written(count) },
                Err(_) => return false,
            }
        }
    }

    /// Adds the states of the pages of a region, of whose `pagemap` this is.
    pub(crate) fn read_states(&self, region: &Region, states: &mut MappedTable<PageState>) -> bool {
        let mut entries = [0_u64; PIECE];
        let (mut page, end) = (region.start / PAGE, region.end / PAGE);
        while page < end {
            let count = (end - page).min(PIECE as u64) as usize;
            // SAFETY: the buffer has room for these entries.
            let read = unsafe {
                ::libc::pread(self.0, entries.as_mut_ptr().cast(), count * 8, (page * 8) as ::libc::off_t)
            };
            let Ok(read) = usize::try_from(read) else { return false };
            if read == 0 {
                return false;
            }
            for entry in entries.iter().take(read / 8) {
                if !states.push(state_of(*entry)) {
                    return false;
                }
            }
            page += (read / 8) as u64;
        }
        true
    }
}

impl Drop for OwnFile {
    fn drop(&mut self) {
        // SAFETY: the descriptor is this value's.
        unsafe { ::libc::close(self.0) };
    }
}

/// The regions of this process with the states of their pages.
#[derive(Debug)]
pub(crate) struct OwnRegions {
    /// The text of `/proc/self/maps`.
    pub(crate) text: MappedTable<u8>,
    /// The regions, by address.
    pub(crate) regions: MappedTable<Region>,
    /// The states of their pages.
    pub(crate) states: MappedTable<PageState>,
}

impl OwnRegions {
    /// Makes room for the list.
    pub(crate) fn new() -> Option<Self> {
        let mut text = MappedTable::new();
        text.reserve(LIST_BYTES).then(|| Self {
            text,
            regions: MappedTable::new(),
            states: MappedTable::new(),
        })
    }

    /// Lists the mappings, and reads the states of their pages from `pagemap`. Passes each mapping of a file
    /// to `file`, with the number of the file. Returns false if the system refuses.
    pub(crate) fn read(
        &mut self,
        pagemap: &OwnFile,
        fiber_bytes: u64,
        mut file: impl FnMut(usize, &Mapping<'_>),
    ) -> bool {
        let Some(maps) = OwnFile::open(c"/proc/self/maps") else { return false };
        if !maps.read_to(&mut self.text) {
            return false;
        }
        let mut pages = 0;
        for entry in Regions::new(self.text.rows(), fiber_bytes) {
            if let Some(number) = entry.file {
                file(number, &entry.mapping);
            }
            let Some(region) = entry.region else { continue };
            pages += (region.end - region.start) / PAGE;
            if pages > MAX_PAGES || !pagemap.read_states(&region, &mut self.states) {
                return false;
            }
            // With huge pages, the main arena is in several mappings.
            let last = self.regions.rows_mut().last_mut().filter(|last| is_one_heap(last, &region));
            if let Some(last) = last {
                last.end = region.end;
            } else if !self.regions.push(region) {
                return false;
            }
        }
        true
    }
}

fn is_one_heap(last: &Region, next: &Region) -> bool {
    last.kind == RegionKind::Heap && next.kind == RegionKind::Heap && last.end == next.start
}

/// Memory that other threads may unmap: each read asks the system.
#[derive(Debug)]
pub(crate) struct LiveMemory;

impl Source for LiveMemory {
    fn copy(&self, address: u64, _state: PageState, into: &mut [u64]) -> bool {
        let bytes = ::core::mem::size_of_val(into);
        let local = ::libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: bytes };
        let remote = ::libc::iovec { iov_base: address as *mut ::core::ffi::c_void, iov_len: bytes };
        // SAFETY: the buffer has room for the bytes; an address that cannot be read is an error.
        let read = unsafe {
            ::libc::process_vm_readv(::libc::getpid(), &raw const local, 1, &raw const remote, 1, 0)
        };
        usize::try_from(read) == Ok(bytes)
    }
}

/// Memory of a copy of the process, whose only thread is the one that reads it.
#[derive(Debug)]
pub(crate) struct CopiedMemory;

impl Source for CopiedMemory {
    fn copy(&self, address: u64, state: PageState, into: &mut [u64]) -> bool {
        if state == SWAPPED {
            return LiveMemory.copy(address, state, into); // it may be a guard that looks like swap
        }
        // SAFETY: the page is resident and readable, no other thread of the copy exists to change that, and
        // the caller's range ends in the page.
        unsafe {
            ::core::ptr::copy_nonoverlapping(address as *const u64, into.as_mut_ptr(), into.len());
        }
        true
    }
}

/// Lets the kernel end this process first if memory runs out.
pub(crate) fn prefer_to_kill_this() {
    // SAFETY: the path and the bytes are constants.
    unsafe {
        let file = ::libc::open(c"/proc/self/oom_score_adj".as_ptr(), ::libc::O_WRONLY | ::libc::O_CLOEXEC);
        if file >= 0 {
            ::libc::write(file, c"1000".as_ptr().cast(), 4);
            ::libc::close(file);
        }
    }
}
