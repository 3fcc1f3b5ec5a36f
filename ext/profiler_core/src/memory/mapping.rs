//! A mapping of the process: a line of `/proc/self/maps`.

use ::core::option::Option::{self, None, Some};
use ::core::prelude::rust_2021::*;

/// The size of a page on the systems that profiler supports.
pub const PAGE: u64 = 4_096;

/// The kind of memory behind a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// The memory below the program break, which is malloc's main arena.
    Heap,
    /// The stack of the main thread.
    MainStack,
    /// Private memory without a file. The kernel may show a name that the process gave it.
    Anonymous,
    /// A private mapping of a file.
    File,
    /// Memory or a file that other processes can share.
    Shared,
    /// Pages of the kernel, such as `[vdso]`.
    Kernel,
}

/// A mapping, as the kernel lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping<'line> {
    /// The first address.
    pub start: u64,
    /// The address after the last.
    pub end: u64,
    /// True if the memory can be read.
    pub is_readable: bool,
    /// True if the memory can be written.
    pub is_writable: bool,
    /// True if the memory can be executed.
    pub is_executable: bool,
    /// Whether other processes see writes to it.
    pub is_shared: bool,
    /// The file, or a name in brackets; empty for anonymous memory.
    pub path: &'line [u8],
}

impl<'line> Mapping<'line> {
    /// Parses a line, without its end. Returns `None` for a line of another form.
    #[must_use]
    pub fn parse(line: &'line [u8]) -> Option<Self> {
        let (start, rest) = hex(line)?;
        let (end, rest) = hex(rest.strip_prefix(b"-")?)?;
        let access = rest.strip_prefix(b" ")?;
        let flag = |place: usize, letter: u8| access.get(place) == Some(&letter);
        let (mut rest, mut fields) = (access, 0);
        while fields < 4 {
            let space = rest.iter().position(|byte| *byte == b' ');
            match space {
                Some(space) => rest = rest.get(space + 1..)?,
                None if fields == 3 => rest = &[], // a line that ends with its inode
                None => return None,
            }
            fields += 1;
        }
        let name = rest.iter().position(|byte| *byte != b' ').unwrap_or(rest.len());
        let path = rest.get(name..)?;
        (start < end && access.len() >= 4).then_some(Self {
            start,
            end,
            is_readable: flag(0, b'r'),
            is_writable: flag(1, b'w'),
            is_executable: flag(2, b'x'),
            is_shared: flag(3, b's'),
            path,
        })
    }

    /// Returns what is behind the mapping.
    #[must_use]
    pub fn backing(&self) -> Backing {
        match self.path {
            _ if self.is_shared => Backing::Shared,
            [] => Backing::Anonymous,
            b"[heap]" => Backing::Heap,
            b"[stack]" => Backing::MainStack,
            path if path.starts_with(b"[anon:") => Backing::Anonymous,
            [b'[', ..] => Backing::Kernel,
            _ => Backing::File,
        }
    }

    /// Returns the number of bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.end - self.start
    }

    /// Returns whether the mapping is empty, which none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }
}

/// Parses the hexadecimal number at the beginning of `text`. Returns it with the rest.
fn hex(text: &[u8]) -> Option<(u64, &[u8])> {
    let mut number: u64 = 0;
    let mut len = 0;
    for byte in text {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => break,
        };
        number = (number << 4) | u64::from(digit);
        len += 1;
    }
    (1..=16).contains(&len).then_some((number, text.get(len..)?))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use ::std::{assert, assert_eq};

    #[test]
    fn parses_each_kind() {
        let parse = |line: &'static str| Mapping::parse(line.as_bytes()).unwrap();
        let heap = parse("5567cc4c5000-5567cc7d8000 rw-p 00000000 00:00 0                          [heap]");
        assert_eq!(
            (heap.start, heap.end, heap.backing()),
            (0x5567_cc4c_5000, 0x5567_cc7d_8000, Backing::Heap)
        );
        assert!(heap.is_readable && heap.is_writable && !heap.is_executable);
        let file =
            parse("556796333000-556796334000 r-xp 00001000 fe:00 10166304                   /usr/bin/a b");
        assert_eq!((file.path, file.backing()), (&b"/usr/bin/a b"[..], Backing::File));
        assert!(file.is_executable && !file.is_writable && file.len() == PAGE);
        for line in ["1000-2000 rw-p 00000000 00:00 0 ", "1000-2000 rw-p 00000000 00:00 0"] {
            assert_eq!((parse(line).path, parse(line).backing()), (&b""[..], Backing::Anonymous), "{line}");
        }
        for (path, backing) in [
            ("[stack]", Backing::MainStack),
            ("[vdso]", Backing::Kernel),
            ("[anon:Ruby:fiber]", Backing::Anonymous),
            ("/dev/zero (deleted)", Backing::File),
        ] {
            let line = ::std::format!("1000-2000 rw-p 00000000 00:00 7    {path}");
            assert_eq!(Mapping::parse(line.as_bytes()).unwrap().backing(), backing, "{path}");
        }
        assert_eq!(parse("1000-2000 rw-s 00000000 00:05 7 /dev/zero (deleted)").backing(), Backing::Shared);
    }

    #[test]
    fn refuses_other_lines() {
        for line in
            ["", "Rss:   4 kB", "2000-1000 rw-p 0 0 0 ", "1000-2000", "1000-2000 rw-p 0", "x-y rw-p 0 0 0"]
        {
            assert_eq!(Mapping::parse(line.as_bytes()), None, "{line}");
        }
    }
}
