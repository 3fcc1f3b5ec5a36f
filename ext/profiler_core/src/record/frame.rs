//! Frames before names: a word with a handle of the VM and a line, or a synthetic frame.

use ::core::prelude::rust_2021::*;

/// A frame before names, in one word: a handle of the VM (or a [`Synthetic`]) and the line that runs.
///
/// A handle is the address of an object of the VM, so it is a multiple of 8 below 2^48. Shifted up by
/// 16 bits it leaves the lowest 19 for the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct RawFrame(u64);

impl RawFrame {
    const LINE_BITS: u32 = 19;
    const HANDLE_SHIFT: u32 = 16;

    /// A frame of a handle and a line from 1. A line below 1 or from 524,288 on becomes 0, which is unknown.
    #[inline]
    #[must_use]
    pub fn new(handle: u64, line: i32) -> Self {
        let line = if (line as u32) >> Self::LINE_BITS == 0 { line as u64 } else { 0 };
        Self(handle << Self::HANDLE_SHIFT | line)
    }

    /// The word in a record.
    #[inline]
    #[must_use]
    pub(crate) fn word(self) -> u64 {
        self.0
    }

    /// The frame behind a [`RawFrame::word`].
    #[inline]
    pub(crate) fn from_word(word: u64) -> Self {
        Self(word)
    }

    /// Opaque to this crate.
    #[inline]
    #[must_use]
    pub fn handle(self) -> u64 {
        (self.0 >> Self::LINE_BITS) << (Self::LINE_BITS - Self::HANDLE_SHIFT)
    }

    /// Line in the file, from 1; 0 is unknown.
    #[inline]
    #[must_use]
    pub fn line(self) -> u32 {
        (self.0 & ((1 << Self::LINE_BITS) - 1)) as u32
    }
}

/// Frames that no VM knows. Their handles are small multiples of 8, which no VM object has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u64)]
pub enum Synthetic {
    /// Frames left out of a stack that is too deep.
    Truncated = 8,
    /// The garbage collector.
    Gc = 16,
    /// Time of a thread of which no stack was ever sampled.
    Unsampled = 24,
    /// A thread that was started and has not run yet.
    ThreadStart = 32,
    /// Nobody had the GVL; it only took a while to get it.
    Nobody = 40,
    /// The leaf side of a stack that came when there were too many different ones.
    Other = 48,
}

impl Synthetic {
    const ALL: [Self; 6] =
        [Self::Truncated, Self::Gc, Self::Unsampled, Self::ThreadStart, Self::Nobody, Self::Other];

    /// The one that `handle` stands for, if any.
    #[must_use]
    pub fn of(handle: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|it| *it as u64 == handle)
    }

    /// Its name in every report.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Truncated => "(truncated)",
            Self::Gc => "(garbage collection)",
            Self::Unsampled => "(unsampled)",
            Self::ThreadStart => "(thread start)",
            Self::Nobody => "(nobody)",
            Self::Other => "(other)",
        }
    }

    /// As a frame of a stack.
    #[must_use]
    pub fn frame(self) -> RawFrame {
        RawFrame::new(self as u64, 0)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use ::core::assert_eq;

    use super::*;

    #[test]
    fn handle_and_line_round_trip() {
        for handle in [8, 0x7fff_ffff_fff8, 0xffff_ffff_fff8, Synthetic::Gc as u64] {
            for line in [0, 1, 524_287] {
                let frame = RawFrame::new(handle, line);
                assert_eq!((frame.handle(), frame.line()), (handle, line as u32));
            }
        }
    }

    #[test]
    fn an_oversized_line_is_unknown_and_keeps_the_handle() {
        for line in [-1, i32::MIN, 524_288, i32::MAX] {
            let frame = RawFrame::new(0x7fff_ffff_fff8, line);
            assert_eq!((frame.handle(), frame.line()), (0x7fff_ffff_fff8, 0));
        }
    }
}
