//! The libraries of the process by address, to tell which one called malloc. A hook searches them on any thread,
//! while one thread at a time adds to them.
//!
//! Names are never removed, so a record may carry the number of its library, also after the library is gone.

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicU64, Ordering};
use ::std::boxed::Box;

use super::name_list::{NameList, MOST};

/// The name of libraries for which there is no space, and of code that is in none.
const NAMELESS: &str = "(no library)";
/// How the names of libraries begin whose functions allocate on behalf of their callers.
const PASS_ON: [&str; 5] = ["libc.so", "libstdc++.so", "libc++.so", "libc++abi.so", "libglib-2.0.so"];

/// A range of addresses that a library occupies.
#[derive(Debug)]
struct Range {
    start: AtomicU64,
    /// The address after the last one; 0 if the range is not in use.
    end: AtomicU64,
    name: AtomicU64,
    /// The number of the pass that last saw the library.
    seen: AtomicU64,
}

/// The ranges of the libraries, and their names.
#[derive(Debug)]
pub struct Libraries {
    ranges: Box<[Range]>,
    /// The number of ranges that have ever been in use.
    used: AtomicU64,
    names: NameList,
    pass: AtomicU64,
}

impl Default for Libraries {
    fn default() -> Self {
        let range = |_| Range {
            start: AtomicU64::new(0),
            end: AtomicU64::new(0),
            name: AtomicU64::new(0),
            seen: AtomicU64::new(0),
        };
        Self {
            ranges: (0..MOST).map(range).collect(),
            used: AtomicU64::new(0),
            names: NameList::default(),
            pass: AtomicU64::new(0),
        }
    }
}

impl Libraries {
    /// The number of the library that Ruby itself is in, which is named first.
    pub const RUBY: u32 = 0;
    /// The number of code that is in no library.
    pub const NONE: u32 = MOST as u32;

    /// Names the library that Ruby itself is in, before any other.
    pub fn name_ruby(&self, name: &str) {
        let _ = self.number(name);
    }

    /// Begins a pass over all libraries. One thread at a time makes passes.
    pub fn begin_pass(&self) {
        self.pass.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that a library occupies these addresses.
    pub fn note(&self, start: u64, end: u64, name: &str) {
        let pass = self.pass.load(Ordering::Relaxed);
        let used = self.used.load(Ordering::Relaxed) as usize;
        let name = u64::from(self.number(name));
        let mut free = None;
        for range in self.ranges.iter().take(used) {
            match range.end.load(Ordering::Relaxed) {
                0 => free = free.or(Some(range)),
                known if known == end && range.start.load(Ordering::Relaxed) == start => {
                    range.name.store(name, Ordering::Relaxed);
                    return range.seen.store(pass, Ordering::Relaxed);
                }
                _ => {}
            }
        }
        let Some(range) = free.or_else(|| self.ranges.get(used)) else { return };
        range.start.store(start, Ordering::Relaxed);
        range.name.store(name, Ordering::Relaxed);
        range.seen.store(pass, Ordering::Relaxed);
        // Release pairs with the Acquire in `at`.
        range.end.store(end, Ordering::Release);
        if free.is_none() {
            self.used.store(used as u64 + 1, Ordering::Release);
        }
    }

    /// Ends a pass: forgets the ranges of libraries that it did not see.
    pub fn end_pass(&self) {
        let pass = self.pass.load(Ordering::Relaxed);
        for range in self.ranges.iter().filter(|it| it.seen.load(Ordering::Relaxed) != pass) {
            range.end.store(0, Ordering::Release);
        }
    }

    /// Returns the number of the library that the address is in.
    ///
    /// # Signal safety
    /// Reads.
    #[must_use]
    pub fn at(&self, address: u64) -> u32 {
        let used = self.used.load(Ordering::Acquire) as usize;
        let has = |range: &&Range| {
            address < range.end.load(Ordering::Acquire) && address >= range.start.load(Ordering::Relaxed)
        };
        let found = self.ranges.iter().take(used).find(has);
        found.map_or(Self::NONE, |it| it.name.load(Ordering::Relaxed) as u32)
    }

    /// Returns whether the library has functions that allocate on behalf of their callers, as `strdup` and
    /// `operator new` do.
    ///
    /// # Signal safety
    /// Reads.
    #[must_use]
    pub fn passes_on(&self, number: u32) -> bool {
        PASS_ON.iter().any(|start| self.name(number).starts_with(start))
    }

    /// Returns the name of the library with that number.
    #[must_use]
    pub fn name(&self, number: u32) -> &str {
        self.names.name(number).unwrap_or(NAMELESS)
    }

    fn number(&self, name: &str) -> u32 {
        self.names.number(name).unwrap_or(Self::NONE)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use ::std::{assert_eq, format};

    #[test]
    fn addresses_belong_to_the_libraries_that_the_last_pass_saw() {
        let libraries = Libraries::default();
        libraries.name_ruby("libruby.so");
        libraries.begin_pass();
        libraries.note(0x1000, 0x2000, "libruby.so");
        libraries.note(0x3000, 0x4000, "libplug.so");
        libraries.end_pass();
        let name = |address| libraries.name(libraries.at(address));
        assert_eq!([0x1000, 0x1fff, 0x3800].map(name), ["libruby.so", "libruby.so", "libplug.so"]);
        assert_eq!([0, 0xfff, 0x2000, 0x4000].map(name), [NAMELESS; 4]);
        assert_eq!(libraries.at(0x1000), Libraries::RUBY);
        let plug = libraries.at(0x3000);
        libraries.begin_pass();
        libraries.note(0x1000, 0x2000, "libruby.so");
        libraries.note(0x3800, 0x4800, "libother.so");
        libraries.end_pass();
        assert_eq!([0x1000, 0x3000, 0x3800].map(name), ["libruby.so", NAMELESS, "libother.so"]);
        assert_eq!(libraries.name(plug), "libplug.so", "a number keeps its name");
    }

    #[test]
    fn libraries_beyond_the_limit_have_no_name() {
        let libraries = Libraries::default();
        libraries.begin_pass();
        for number in 0..MOST as u64 + 9 {
            libraries.note(number << 12, (number + 1) << 12, &format!("lib{number}.so"));
        }
        libraries.end_pass();
        let last = MOST as u64 - 1;
        assert_eq!(libraries.name(libraries.at(last << 12)), format!("lib{last}.so"));
        assert_eq!(libraries.name(libraries.at((last + 1) << 12)), NAMELESS);
    }
}
