//! The libraries that are loaded, as the linker lists them, and their tables.
//!
//! Everything is read while the linker holds the lock under which libraries are unmapped, so a listed library is
//! mapped.

use ::core::ffi::{c_char, c_int, c_void, CStr};
use ::core::mem::size_of;
use ::core::prelude::rust_2021::*;
use ::std::borrow::{Cow, ToOwned};
use ::std::string::String;

const DT_PLTRELSZ: i64 = 2;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_RELA: i64 = 7;
const DT_RELASZ: i64 = 8;
const DT_JMPREL: i64 = 23;
/// The types of relocations that hold the address of a function: in data, and in the two parts of the table.
const ADDRESS: u64 = 1;
const GLOB_DAT: u64 = 6;
const JUMP_SLOT: u64 = 7;

#[repr(C)]
#[derive(Clone, Copy)]
struct Relocation {
    offset: u64,
    info: u64,
    addend: i64,
}

/// Returns the number of libraries that have been loaded so far, those that are gone included.
pub(crate) fn loads() -> u64 {
    unsafe extern "C" fn first(info: *mut ::libc::dl_phdr_info, _size: usize, loads: *mut c_void) -> c_int {
        // SAFETY: the linker passes a valid struct, and `loads` is the variable below.
        unsafe { *loads.cast::<u64>() = (*info).dlpi_adds };
        1
    }
    let mut loads: u64 = 0;
    // SAFETY: the function above only reads the struct that it gets, and writes to the variable.
    unsafe { ::libc::dl_iterate_phdr(Some(first), (&raw mut loads).cast()) };
    loads
}

/// Returns the name of the library that the address is in.
pub(crate) fn name_at(address: usize) -> Option<String> {
    let mut name = None;
    each_library(&mut |library| {
        if library.contains(address) {
            name = Some(library.name().into_owned());
        }
    });
    name
}

/// A loaded library, while the linker holds its lock.
pub(super) struct Library<'info> {
    base: usize,
    /// The path; empty for the program itself.
    path: &'info CStr,
    pub(super) is_program: bool,
    /// True for the linker and the kernel's own library.
    pub(super) is_system: bool,
    headers: &'info [::libc::Elf64_Phdr],
    pub(super) start: usize,
    pub(super) end: usize,
    symbols: usize,
    strings: usize,
    /// The addresses and sizes of both tables of relocations.
    tables: [(usize, usize); 2],
}

/// Calls `f` with each library. The linker holds its lock for all of them.
pub(super) fn each_library(f: &mut dyn FnMut(&Library<'_>)) {
    unsafe extern "C" fn found(info: *mut ::libc::dl_phdr_info, _size: usize, f: *mut c_void) -> c_int {
        // SAFETY: the linker passes a valid struct, which lasts as long as the call, and `f` is the closure
        // below.
        let (info, f) = unsafe { (&*info, &mut *f.cast::<&mut dyn FnMut(&Library<'_>)>()) };
        if let Some(library) = Library::of(info) {
            f(&library);
        }
        0
    }
    let mut f: &mut dyn FnMut(&Library<'_>) = f;
    // SAFETY: the closure outlives the call. It does not unwind: what it calls cannot panic.
    unsafe { ::libc::dl_iterate_phdr(Some(found), (&raw mut f).cast()) };
}

impl<'info> Library<'info> {
    fn of(info: &'info ::libc::dl_phdr_info) -> Option<Self> {
        if info.dlpi_phdr.is_null() {
            return None;
        }
        // SAFETY: the linker passes its program headers, and their number.
        let headers = unsafe { ::core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        let base = info.dlpi_addr as usize;
        let loaded = || headers.iter().filter(|it| it.p_type == ::libc::PT_LOAD);
        let start = base.wrapping_add(loaded().map(|it| it.p_vaddr as usize).min()?);
        let end = base.wrapping_add(loaded().map(|it| (it.p_vaddr + it.p_memsz) as usize).max()?);
        // SAFETY: the path is a C string of the linker, or null.
        let path = unsafe { info.dlpi_name.as_ref().map_or(c"", |it| CStr::from_ptr(it)) };
        // SAFETY: reads the vector that the kernel passed to the program.
        let (linker, vdso) = unsafe {
            (::libc::getauxval(::libc::AT_BASE) as usize, ::libc::getauxval(::libc::AT_SYSINFO_EHDR) as usize)
        };
        let mut library = Self {
            base,
            path,
            is_program: path.is_empty(),
            is_system: base == linker || (start..end).contains(&vdso),
            headers,
            start,
            end,
            symbols: 0,
            strings: 0,
            tables: [(0, 0); 2],
        };
        if !library.is_system {
            library.read_dynamic();
        }
        Some(library)
    }

    /// Reads where the tables of the library are.
    fn read_dynamic(&mut self) {
        let Some(header) = self.headers.iter().find(|it| it.p_type == ::libc::PT_DYNAMIC) else { return };
        let at = self.base.wrapping_add(header.p_vaddr as usize);
        let entries = header.p_memsz as usize / size_of::<[i64; 2]>();
        let (mut tables, mut sizes) = ([0; 2], [0; 2]);
        for place in 0..entries {
            let Some([tag, value]) = self.read::<[i64; 2]>(at + place * size_of::<[i64; 2]>()) else { break };
            // glibc has replaced offsets by addresses, except in libraries that it cannot write to.
            let address = value as usize;
            let address = if self.contains(address) { address } else { self.base.wrapping_add(address) };
            match tag {
                0 => break,
                DT_SYMTAB => self.symbols = address,
                DT_STRTAB => self.strings = address,
                DT_RELA => tables[0] = address,
                DT_RELASZ => sizes[0] = value as usize,
                DT_JMPREL => tables[1] = address,
                DT_PLTRELSZ => sizes[1] = value as usize,
                _ => {}
            }
        }
        self.tables = [(tables[0], sizes[0]), (tables[1], sizes[1])];
    }

    pub(super) fn contains(&self, address: usize) -> bool {
        (self.start..self.end).contains(&address)
    }

    /// Returns the file's name; that of the program if it is the program itself.
    pub(super) fn name(&self) -> Cow<'info, str> {
        let path = self.path.to_bytes();
        if self.is_program {
            let program = ::std::fs::read_link("/proc/self/exe").ok();
            let name = program.as_deref().and_then(|it| it.file_name()?.to_str());
            return name.map_or(Cow::Borrowed("(program)"), |it| Cow::Owned(it.to_owned()));
        }
        String::from_utf8_lossy(path.rsplit(|it| *it == b'/').next().unwrap_or(path))
    }

    /// Reads from the library. `None` if the address is not in it.
    pub(super) fn read<T: Copy>(&self, at: usize) -> Option<T> {
        let is_inside = |it: &&::libc::Elf64_Phdr| {
            let start = self.base.wrapping_add(it.p_vaddr as usize);
            let readable = it.p_type == ::libc::PT_LOAD && it.p_flags & ::libc::PF_R != 0;
            readable && at >= start && at.saturating_add(size_of::<T>()) <= start + it.p_memsz as usize
        };
        self.headers.iter().find(is_inside)?;
        // SAFETY: the bytes are in a segment that the linker has mapped to be read, and stays mapped.
        Some(unsafe { (at as *const T).read_unaligned() })
    }

    /// Iterates over the relocations that hold the address of a function: the number of its symbol, and the
    /// slot.
    pub(super) fn relocations(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let size = size_of::<Relocation>();
        let all =
            self.tables.iter().flat_map(move |(at, bytes)| (0..bytes / size).map(move |it| at + it * size));
        all.filter_map(|at| {
            let it: Relocation = self.read(at)?;
            let holds = match it.info & 0xffff_ffff {
                ADDRESS => it.addend == 0,
                of => of == GLOB_DAT || of == JUMP_SLOT,
            };
            let slot = self.base.wrapping_add(it.offset as usize);
            (holds && slot % size_of::<usize>() == 0).then_some(((it.info >> 32) as usize, slot))
        })
    }

    /// Returns the name of a symbol.
    pub(super) fn name_of(&self, symbol: usize) -> Option<&CStr> {
        let at = self.strings.wrapping_add(self.symbol(symbol)?.st_name as usize);
        self.read::<u8>(at)?;
        // SAFETY: the linker itself has compared this string, which is in a mapped segment.
        Some(unsafe { CStr::from_ptr(at as *const c_char) })
    }

    /// Returns whether a symbol is defined in the library itself.
    pub(super) fn defines(&self, symbol: usize) -> bool {
        self.symbol(symbol).is_none_or(|it| it.st_shndx != 0)
    }

    fn symbol(&self, number: usize) -> Option<::libc::Elf64_Sym> {
        self.read(self.symbols.wrapping_add(number * size_of::<::libc::Elf64_Sym>()))
    }

    /// Returns whether the linker makes the slot read-only once it has filled it.
    pub(super) fn is_relro(&self, slot: usize) -> bool {
        let page = page_size();
        self.headers.iter().filter(|it| it.p_type == ::libc::PT_GNU_RELRO).any(|it| {
            let start = self.base.wrapping_add(it.p_vaddr as usize);
            let end = start + it.p_memsz as usize;
            (start & !(page - 1)..end & !(page - 1)).contains(&slot)
        })
    }

    /// Returns whether the address is in the code of the library, where its stubs are.
    pub(super) fn is_code(&self, address: usize) -> bool {
        self.headers.iter().any(|it| {
            let start = self.base.wrapping_add(it.p_vaddr as usize);
            let executable = it.p_type == ::libc::PT_LOAD && it.p_flags & ::libc::PF_X != 0;
            executable && (start..start + it.p_memsz as usize).contains(&address)
        })
    }
}

pub(super) fn page_size() -> usize {
    // SAFETY: asks for a number.
    unsafe { ::libc::sysconf(::libc::_SC_PAGESIZE) as usize }
}
