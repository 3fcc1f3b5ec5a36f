//! The symbols that a library exports. They are read from memory, because the file of the library may have
//! been replaced since it was loaded.

use super::RemoteMemory;

const MAGIC: [u8; 4] = *b"\x7fELF";
const CLASS_64: u8 = 2;
const MACHINE_X86_64: u16 = 62;

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const PT_GNU_RELRO: u32 = 0x6474_e552;
const PF_X: u32 = 1;
const PF_W: u32 = 2;

const DT_NULL: u64 = 0;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_VERSYM: u64 = 0x6fff_fff0;
const DT_GNU_HASH: u64 = 0x6fff_fef5;

/// The mark of an old version of a symbol, to which new programs are not linked.
const HIDDEN: u16 = 0x8000;
/// The maximum number of entries that are read from a table. The other process may contain anything.
const MAX_ENTRIES: usize = 4_096;
/// The maximum length of a symbol's name in bytes.
const LONGEST: usize = 64;

/// A loaded segment of a library.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// The first address.
    pub start: u64,
    /// The address after the last byte of the segment. The rest of that page is unused.
    pub end: u64,
}

/// A library in the memory of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteLibrary {
    /// The code segment.
    pub code: Segment,
    /// The last writable segment.
    pub data: Segment,
    /// The end of the data that became read-only after relocation (RELRO).
    pub read_only_end: u64,
    strings: u64,
    symbols: u64,
    versions: u64,
    hash: u64,
    /// The load address, to which the values of symbols are relative.
    load: u64,
}

impl RemoteLibrary {
    /// Reads the headers of the library whose first page is at `base`. Returns `None` if there is no library
    /// for x86-64, or one without a symbol table.
    pub fn read(memory: &impl RemoteMemory, base: u64) -> Option<Self> {
        let head: [u8; 64] = memory.bytes(base)?;
        let u16_at = |at: usize| Some(u16::from_le_bytes(head.get(at..at + 2)?.try_into().ok()?));
        let u64_at = |at: usize| Some(u64::from_le_bytes(head.get(at..at + 8)?.try_into().ok()?));
        if head[..4] != MAGIC || head[4] != CLASS_64 || u16_at(18)? != MACHINE_X86_64 {
            return None;
        }
        let is_relative = u16_at(16)? == 3;
        let (table, size, count) = (u64_at(32)?, u16_at(54)?, u16_at(56)?);
        let mut found = Self { load: if is_relative { base } else { 0 }, ..Self::default() };
        let (mut dynamic, mut lowest) = (None, u64::MAX);
        for number in 0..u64::from(count) {
            let at = base + table + number * u64::from(size);
            let (kind, flags) = (memory.u32(at)?, memory.u32(at + 4)?);
            let (address, length) = (memory.u64(at + 16)?, memory.u64(at + 40)?);
            let start = if is_relative { base + address } else { address };
            let segment = Segment { start, end: start.checked_add(length)? };
            match kind {
                PT_LOAD => {
                    lowest = lowest.min(address);
                    if flags & PF_X != 0 {
                        found.code = segment;
                    }
                    if flags & PF_W != 0 {
                        found.data = segment;
                    }
                }
                PT_DYNAMIC => dynamic = Some(start),
                PT_GNU_RELRO => found.read_only_end = segment.end,
                _ => {}
            }
        }
        if is_relative && lowest >= 4_096 {
            return None; // a prelinked library, which is not mapped where its headers say
        }
        found.read_dynamic(memory, dynamic?, base)?;
        Some(found)
    }

    fn read_dynamic(&mut self, memory: &impl RemoteMemory, dynamic: u64, base: u64) -> Option<()> {
        for number in 0..MAX_ENTRIES as u64 {
            let (tag, value) = (memory.u64(dynamic + number * 16)?, memory.u64(dynamic + number * 16 + 8)?);
            // The dynamic linker of glibc replaces offsets with addresses, except in read-only sections.
            let address = if value < base { base + value } else { value };
            match tag {
                DT_NULL => break,
                DT_STRTAB => self.strings = address,
                DT_SYMTAB => self.symbols = address,
                DT_VERSYM => self.versions = address,
                DT_GNU_HASH => self.hash = address,
                _ => {}
            }
        }
        (self.strings != 0 && self.symbols != 0 && self.hash != 0).then_some(())
    }

    /// Returns the address of an exported symbol.
    pub fn find(&self, memory: &impl RemoteMemory, name: &str) -> Option<u64> {
        let wanted = hash(name);
        let [buckets, first, words, shift]: [u32; 4] = [
            memory.u32(self.hash)?,
            memory.u32(self.hash + 4)?,
            memory.u32(self.hash + 8)?,
            memory.u32(self.hash + 12)?,
        ];
        if buckets == 0 || words == 0 || shift > 31 {
            return None;
        }
        let bloom = self.hash + 16;
        let word = memory.u64(bloom + u64::from(wanted / 64 % words) * 8)?;
        let bits = (1_u64 << (wanted % 64)) | (1 << ((wanted >> shift) % 64));
        if word & bits != bits {
            return None;
        }
        let chains = bloom + u64::from(words) * 8 + u64::from(buckets) * 4;
        let start = memory.u32(bloom + u64::from(words) * 8 + u64::from(wanted % buckets) * 4)?;
        if start < first {
            return None;
        }
        let mut older = None;
        for number in (start..).take(MAX_ENTRIES) {
            let entry = memory.u32(chains + u64::from(number - first) * 4)?;
            if entry | 1 == wanted | 1 {
                match self.symbol(memory, number, name) {
                    Some((address, false)) => return Some(address),
                    Some((address, true)) => older = Some(address),
                    None => {}
                }
            }
            if entry & 1 != 0 {
                break;
            }
        }
        older
    }

    /// Returns the address of a symbol and whether it is an old version. Returns `None` if the symbol has
    /// another name, or is only imported.
    fn symbol(&self, memory: &impl RemoteMemory, number: u32, name: &str) -> Option<(u64, bool)> {
        let at = self.symbols + u64::from(number) * 24;
        let [_, _, _, _, info, _, section @ ..]: [u8; 8] = memory.bytes(at)?;
        let value = memory.u64(at + 8)?;
        let is_code_or_data = matches!(info & 15, 1 | 2);
        if section == [0, 0] || value == 0 || !is_code_or_data {
            return None;
        }
        let text = memory.text(self.strings + u64::from(memory.u32(at)?), LONGEST)?;
        if text != name {
            return None;
        }
        let version = if self.versions == 0 {
            0
        } else {
            u16::from_le_bytes(memory.bytes(self.versions + u64::from(number) * 2)?)
        };
        Some((self.load + value, version & HIDDEN != 0))
    }
}

/// Returns the hash that GNU's table uses.
fn hash(name: &str) -> u32 {
    name.bytes().fold(5_381, |hash: u32, byte| hash.wrapping_mul(33).wrapping_add(u32::from(byte)))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The memory of this process, through the kernel's file.
    struct Own(std::fs::File);

    impl RemoteMemory for Own {
        fn read(&self, address: u64, into: &mut [u8]) -> bool {
            std::os::unix::fs::FileExt::read_exact_at(&self.0, into, address).is_ok()
        }
    }

    #[test]
    fn finds_what_libc_exports() {
        let own = Own(std::fs::File::open("/proc/self/mem").unwrap());
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let line = maps.lines().find(|line| line.contains("/libc.so.6")).unwrap();
        let base = u64::from_str_radix(line.split('-').next().unwrap(), 16).unwrap();
        let libc = RemoteLibrary::read(&own, base).unwrap();
        assert!(libc.code.start < libc.code.end && libc.data.start < libc.data.end);
        for name in ["sigaction", "dlsym", "dlopen", "malloc"] {
            let address = libc.find(&own, name).unwrap();
            assert!((libc.code.start..libc.code.end).contains(&address), "{name}");
        }
        assert_eq!(libc.find(&own, "rb_require"), None);
        assert_eq!(RemoteLibrary::read(&own, libc.data.start & !4_095), None);
    }

    #[test]
    fn hashes_as_the_linker_does() {
        assert_eq!((hash(""), hash("printf"), hash("exit")), (0x1505, 0x156b_2bb8, 0x7c96_7e3f));
    }
}
