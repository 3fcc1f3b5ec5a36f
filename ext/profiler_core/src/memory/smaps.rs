//! The sizes of mappings: `/proc/self/smaps`.

use std::collections::BTreeMap;

use super::mapping::{Backing, Mapping};

/// The sizes of one mapping, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappingSize {
    /// The first address.
    pub start: u64,
    /// The address after the last.
    pub end: u64,
    /// The file, or a name in brackets.
    pub path: String,
    /// Resident bytes.
    pub rss: u64,
    /// Resident bytes that belong to no file, such as written pages of a private mapping.
    pub anonymous: u64,
    /// Bytes in swap.
    pub swap: u64,
}

/// The sizes of all mappings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Smaps {
    /// The mappings that only this process has and no file backs, without their parts.
    pub anonymous: Vec<MappingSize>,
    /// Resident bytes of private mappings by file, without written pages.
    pub files: BTreeMap<String, u64>,
    /// Resident bytes of written pages by file: the data of libraries.
    pub written: BTreeMap<String, u64>,
    /// Resident bytes of written pages that can no longer be written, of all files: what the linker relocated.
    pub relocated: u64,
    /// Resident bytes of shared memory and shared files.
    pub shared: u64,
    /// Resident bytes of all mappings.
    pub rss: u64,
    /// Bytes in swap.
    pub swap: u64,
    /// Bytes of address space.
    pub size: u64,
    /// Bytes of address space that nothing may touch: what malloc reserves for arenas of threads, and guards.
    pub reserved: u64,
}

impl Smaps {
    /// Parses the file.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut all = Self::default();
        let mut open: Option<(Backing, bool, MappingSize)> = None;
        for line in text.lines() {
            if let Some(mapping) = Mapping::parse(line.as_bytes()) {
                all.close(open.take());
                if !mapping.is_readable && mapping.backing() == Backing::Anonymous {
                    all.reserved += mapping.len();
                }
                let path = String::from_utf8_lossy(mapping.path).into_owned();
                let size =
                    MappingSize { start: mapping.start, end: mapping.end, path, ..MappingSize::default() };
                open = Some((mapping.backing(), mapping.is_writable, size));
                continue;
            }
            let (Some((_, _, size)), Some((name, kilobytes))) = (&mut open, line.split_once(':')) else {
                continue;
            };
            let bytes = || kilobytes.trim().trim_end_matches(" kB").parse().unwrap_or(0_u64) * 1_024;
            match name {
                "Rss" => size.rss = bytes(),
                "Anonymous" => size.anonymous = bytes(),
                "Swap" => size.swap = bytes(),
                _ => {}
            }
        }
        all.close(open);
        all
    }

    /// Parses the sums of all mappings: `/proc/self/smaps_rollup`.
    #[must_use]
    pub fn parse_sums(text: &str) -> Option<MappingSize> {
        let of = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1_024)
        };
        let (rss, anonymous, swap) = (of("Rss")?, of("Anonymous")?, of("Swap")?);
        Some(MappingSize { rss, anonymous, swap, ..MappingSize::default() })
    }

    fn close(&mut self, mapping: Option<(Backing, bool, MappingSize)>) {
        let Some((backing, is_writable, size)) = mapping else { return };
        self.rss += size.rss;
        self.swap += size.swap;
        self.size += size.end - size.start;
        match backing {
            Backing::Shared => self.shared += size.rss,
            Backing::File | Backing::Kernel => {
                self.relocated += if is_writable { 0 } else { size.anonymous };
                *self.written.entry(size.path.clone()).or_default() += size.anonymous;
                *self.files.entry(size.path).or_default() += size.rss.saturating_sub(size.anonymous);
            }
            Backing::Heap | Backing::MainStack | Backing::Anonymous => self.anonymous.push(size),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn sums_up_by_what_is_behind() {
        let text = "\
1000-3000 rw-p 00000000 00:00 0    [heap]
Size:                  8 kB
Rss:                   8 kB
Anonymous:             8 kB
Swap:                  4 kB
VmFlags: rd wr mr
4000-6000 rw-p 00000000 fe:00 7    /lib/a.so
Rss:                   8 kB
Anonymous:             4 kB
6000-7000 r-xp 00002000 fe:00 7    /lib/a.so
Rss:                   4 kB
Anonymous:             0 kB
7000-8000 r--p 00003000 fe:00 7    /lib/a.so
Rss:                   4 kB
Anonymous:             4 kB
8000-9000 rw-s 00000000 00:05 8    /dev/zero (deleted)
Rss:                   4 kB
Anonymous:             0 kB
9000-d000 ---p 00000000 00:00 0
Rss:                   0 kB
";
        let smaps = Smaps::parse(text);
        assert_eq!(
            (smaps.rss, smaps.swap, smaps.size, smaps.shared),
            (28 * 1_024, 4_096, 0x2000 + 0x2000 + 0x1000 + 0x1000 + 0x1000 + 0x4000, 4_096)
        );
        assert_eq!((smaps.relocated, smaps.reserved), (4_096, 0x4000));
        assert_eq!(smaps.files, BTreeMap::from([("/lib/a.so".to_owned(), 8_192)]));
        assert_eq!(smaps.written, BTreeMap::from([("/lib/a.so".to_owned(), 8_192)]));
        let anonymous: Vec<_> = smaps.anonymous.iter().map(|it| (&*it.path, it.rss, it.swap)).collect();
        assert_eq!(anonymous, [("[heap]", 8_192, 4_096), ("", 0, 0)]);
    }

    #[test]
    fn reads_the_sums() {
        let text = "55-7f ---p 00000000 00:00 0    [rollup]\nRss:      10 kB\nPss:   4 kB\nAnonymous:  6 kB\nSwapPss:   3 kB\nSwap:   2 kB\n";
        let sums = Smaps::parse_sums(text).map(|it| (it.rss, it.anonymous, it.swap));
        assert_eq!(sums, Some((10 * 1_024, 6 * 1_024, 2 * 1_024)));
        assert_eq!(Smaps::parse_sums("Rss: 10 kB"), None);
    }

    #[test]
    fn bears_what_is_no_smaps() {
        assert_eq!(Smaps::parse("Rss: x kB\n\nnothing"), Smaps::default());
    }
}
