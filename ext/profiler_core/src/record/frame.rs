//! Frames before they have names: one word with a handle of the VM and a line, or with a synthetic frame.

use ::core::prelude::rust_2021::*;

/// A frame without a name, in one word: a handle of the VM (or a [`Synthetic`]) and the line being executed.
///
/// A handle is the address of an object of the VM, so it is a multiple of 8 below 2^48. Shifted left by 16
/// bits, it leaves the lowest 19 bits for the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct RawFrame(u64);

impl RawFrame {
    const LINE_BITS: u32 = 19;
    const HANDLE_SHIFT: u32 = 16;

    /// Packs a handle and a line, counted from 1. A line below 1 or from 524,288 on becomes 0, which means
    /// unknown.
    #[inline]
    #[must_use]
    pub fn new(handle: u64, line: i32) -> Self {
        let line = if (line as u32) >> Self::LINE_BITS == 0 { line as u64 } else { 0 };
        Self(handle << Self::HANDLE_SHIFT | line)
    }

    /// Returns the frame as a word of a record.
    #[inline]
    #[must_use]
    pub(crate) fn word(self) -> u64 {
        self.0
    }

    /// Restores a frame from a [`RawFrame::word`].
    #[inline]
    pub(crate) fn from_word(word: u64) -> Self {
        Self(word)
    }

    /// Returns the handle, which is opaque to this crate.
    #[inline]
    #[must_use]
    pub fn handle(self) -> u64 {
        (self.0 >> Self::LINE_BITS) << (Self::LINE_BITS - Self::HANDLE_SHIFT)
    }

    /// Returns the line in the file, from 1; 0 if it is unknown.
    #[inline]
    #[must_use]
    pub fn line(self) -> u32 {
        (self.0 & ((1 << Self::LINE_BITS) - 1)) as u32
    }
}

/// The first handle of functions that are known by their names alone, which the VM has perhaps forgotten. They
/// are the last 512 KiB below 2^48, where no object of the VM can be: on each system, the stack of the main
/// thread or the kernel is there.
const FIRST_NAMED: u64 = (1 << 48) - (1 << 19);

/// Returns the handle of the function with this number among those that are known by their names alone. Returns
/// `None` if there are too many.
#[must_use]
pub fn named_handle(number: usize) -> Option<u64> {
    let handle = FIRST_NAMED + ((number as u64) << 3);
    (handle < 1 << 48).then_some(handle)
}

/// Returns whether the VM knows what `handle` stands for, so that it has to be marked.
#[must_use]
pub fn is_of_vm(handle: u64) -> bool {
    handle < FIRST_NAMED && Synthetic::of(handle).is_none()
}

/// Frames that are unknown to the VM. Their handles are small multiples of 8, which no object of the VM has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u64)]
pub enum Synthetic {
    /// The frames left out of a stack that is too deep.
    Truncated = 8,
    /// The garbage collector.
    Gc = 16,
    /// The time of a thread whose stack was never sampled.
    Unsampled = 24,
    /// A thread that has been started but has not run yet.
    ThreadStart = 32,
    /// Nobody held the GVL: acquiring it just took a while.
    Nobody = 40,
    /// The leaf side of a stack that arrived when there were already too many different stacks.
    Other = 48,
    /// C code on a thread that is not Ruby's.
    NoRuby = 56,
}

impl Synthetic {
    const ALL: [Self; 7] = [
        Self::Truncated,
        Self::Gc,
        Self::Unsampled,
        Self::ThreadStart,
        Self::Nobody,
        Self::Other,
        Self::NoRuby,
    ];

    /// Returns the synthetic frame that `handle` stands for, if any.
    #[must_use]
    pub fn of(handle: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|it| *it as u64 == handle)
    }

    /// Returns the name that every report shows.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Truncated => "(truncated)",
            Self::Gc => "(garbage collection)",
            Self::Unsampled => "(unsampled)",
            Self::ThreadStart => "(thread start)",
            Self::Nobody => "(nobody)",
            Self::Other => "(other)",
            Self::NoRuby => "(no Ruby code)",
        }
    }

    /// Converts it to a frame of a stack.
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
    fn handles_of_names_are_unknown_to_the_vm() {
        let numbers =
            [0, 1, 65_535].map(|it| named_handle(it).map(|handle| RawFrame::new(handle, 7).handle()));
        assert_eq!(numbers.map(|it| it.map(is_of_vm)), [Some(false); 3]);
        assert_eq!(numbers, [0, 1, 65_535].map(named_handle));
        assert_eq!(named_handle(65_536), None);
        assert_eq!([0x7fff_ffff_fff8, 16, 64].map(is_of_vm), [true, false, true]);
    }

    #[test]
    fn an_oversized_line_is_unknown_and_keeps_the_handle() {
        for line in [-1, i32::MIN, 524_288, i32::MAX] {
            let frame = RawFrame::new(0x7fff_ffff_fff8, line);
            assert_eq!((frame.handle(), frame.line()), (0x7fff_ffff_fff8, 0));
        }
    }
}
