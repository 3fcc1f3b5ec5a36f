//! What crosses the ring: a [`Stamp`] and the frames of one stack, leaf first, as words.
//!
//! The clocks are absolute. Who counts how much time a record stands for is the aggregate, from the
//! clocks of the record before: so a record that was dropped carries its time to the next by itself,
//! and two sessions with different spans can read the same record.
//!
//! ```text
//! word 0   thread (32 bits) | state (8) | kind (8) | number of frames (16)
//! word 1   CPU clock of the thread, ns
//! word 2   monotonic clock, ns
//! word 3   CPU clock of the thread at its birth, ns
//! word 4   label set (32) | scope (32)
//! then     the frames, one a word
//! ```

use ::core::prelude::rust_2021::*;

use crate::ids::{LabelSetId, ScopeId, ThreadId};
use crate::ring::{Full, Ring, Slot};

/// Words before the frames.
const STAMP_WORDS: usize = 5;

/// The kind of a record that says that the thread's labels or scope are others from now on. All others
/// are ticks.
const SWITCH: u8 = 1;

/// What a thread was doing when its record was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum State {
    /// Using its CPU, with or without the GVL.
    Running = 0,
    /// Collecting garbage.
    Gc = 1,
}

impl State {
    /// All there are.
    pub const ALL: [Self; 2] = [Self::Running, Self::Gc];

    fn from_bits(bits: u8) -> Self {
        match bits {
            1 => State::Gc,
            _ => State::Running,
        }
    }

    /// The word for it in labels.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            State::Running => "running",
            State::Gc => "gc",
        }
    }
}

/// Everything about a record but its frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Whose record it is.
    pub thread: ThreadId,
    /// What the thread was doing.
    pub state: State,
    /// Labels current on the thread.
    pub labels: LabelSetId,
    /// Request or job current on the thread.
    pub scope: ScopeId,
    /// CPU clock of the thread, ns.
    pub cpu_ns: u64,
    /// Monotonic clock, ns.
    pub monotonic_ns: u64,
    /// The thread's CPU clock when it was born or first seen: what its first record counts from.
    pub born_cpu_ns: u64,
}

/// One frame before names, in one word: a handle of the VM (or a [`Synthetic`]) and the line that runs.
///
/// A handle is the address of an object of the VM, so it is a multiple of 8 below 2^48. Shifted up by
/// 16 bits it leaves the lowest 19 for the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct RawFrame(u64);

impl RawFrame {
    const LINE_BITS: u32 = 19;
    const HANDLE_SHIFT: u32 = 16;

    /// Of a handle and a line from 1. A line below 1 or from 524,288 on becomes 0, which is unknown.
    #[inline]
    #[must_use]
    pub fn new(handle: u64, line: i32) -> Self {
        let line = if (line as u32) >> Self::LINE_BITS == 0 { line as u64 } else { 0 };
        Self(handle << Self::HANDLE_SHIFT | line)
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Synthetic {
    /// Frames left out of a stack that is too deep.
    Truncated = 8,
    /// The collector of garbage.
    Gc = 16,
    /// Time of a thread of which no stack was ever taken.
    Unsampled = 24,
}

impl Synthetic {
    const ALL: [Self; 3] = [Self::Truncated, Self::Gc, Self::Unsampled];

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
        }
    }

    /// As a frame of a stack.
    #[must_use]
    pub fn frame(self) -> RawFrame {
        RawFrame::new(self as u64, 0)
    }
}

/// A stack as the walk left it: handles and lines of equal length, leaf first, and whether the walk
/// stopped for want of room (the root side is then missing).
#[derive(Clone, Copy, Debug)]
pub struct Walk<'buffers> {
    /// One handle a frame.
    pub handles: &'buffers [u64],
    /// One line a frame; negative counts as unknown.
    pub lines: &'buffers [i32],
    /// The root side is missing.
    pub rootless: bool,
}

/// Writes a record into the ring, keeping at most `depth` frames: both ends of the stack, with
/// [`Synthetic::Truncated`] between (at the root where the root is missing).
///
/// # Signal safety
/// Runs in the handler: neither allocates nor waits.
///
/// # Errors
/// [`Full`], and nothing was written.
#[inline]
pub fn push(ring: &Ring, stamp: &Stamp, walk: Walk<'_>, depth: usize) -> Result<(), Full> {
    let have = walk.handles.len().min(walk.lines.len());
    // The cut frame has to find room among the `depth`, and a count has 16 bits in the record.
    let depth = depth.clamp(3, usize::from(u16::MAX));
    let (leaf, root, cut) = if have > depth || (walk.rootless && have == depth) {
        let room = depth - 1;
        if walk.rootless {
            (room, 0, true)
        } else {
            (room - room / 2, room / 2, true)
        }
    } else {
        (have, 0, walk.rootless)
    };
    let frames = leaf + usize::from(cut) + root;
    let len = STAMP_WORDS + frames;

    ring.try_push(len, |slot| {
        write_stamp(slot, stamp, 0, frames);
        let frame = |(handle, line): (&u64, &i32)| RawFrame::new(*handle, *line).0;
        let seen = || walk.handles.iter().zip(walk.lines);
        slot.extend(seen().take(leaf).map(frame));
        if cut {
            slot.write(Synthetic::Truncated.frame().0);
        }
        slot.extend(seen().skip(have - root).map(frame));
    })
}

/// Writes a record that says that from `stamp` on the thread has the labels and the scope of `stamp`.
/// It stands for no time; it tells the sessions that look at labels where one request ends.
///
/// # Errors
/// [`Full`], and nothing was written.
pub fn push_switch(ring: &Ring, stamp: &Stamp) -> Result<(), Full> {
    ring.try_push(STAMP_WORDS, |slot| write_stamp(slot, stamp, SWITCH, 0))
}

#[inline]
fn write_stamp(slot: &mut Slot<'_>, stamp: &Stamp, kind: u8, frames: usize) {
    let what = u64::from(stamp.state as u8) | u64::from(kind) << 8;
    slot.write(u64::from(stamp.thread.0) | what << 32 | (frames as u64) << 48);
    slot.write(stamp.cpu_ns);
    slot.write(stamp.monotonic_ns);
    slot.write(stamp.born_cpu_ns);
    slot.write(u64::from(stamp.labels.0) | u64::from(stamp.scope.0) << 32);
}

/// A record in hand, as it came out of the ring.
#[derive(Clone, Copy, Debug)]
pub struct RawSample<'hand> {
    /// Everything but the frames.
    pub stamp: Stamp,
    /// It is no tick: the labels and the scope of `stamp` are the thread's from now on.
    pub switch: bool,
    words: &'hand [u64],
}

impl<'hand> RawSample<'hand> {
    /// Reads what [`push`] wrote; nothing when the words are no record.
    #[must_use]
    pub fn decode(words: &'hand [u64]) -> Option<Self> {
        let (stamp, words) = words.split_at_checked(STAMP_WORDS)?;
        let &[head, cpu_ns, monotonic_ns, born_cpu_ns, ids] = stamp else { return None };
        if words.len() != (head >> 48) as usize {
            return None;
        }
        let stamp = Stamp {
            thread: ThreadId(head as u32),
            state: State::from_bits((head >> 32) as u8),
            labels: LabelSetId(ids as u32),
            scope: ScopeId((ids >> 32) as u32),
            cpu_ns,
            monotonic_ns,
            born_cpu_ns,
        };
        Some(Self { stamp, switch: (head >> 40) as u8 == SWITCH, words })
    }

    /// The frames as they lie in the record: equal words are equal stacks.
    pub(crate) fn words(&self) -> &'hand [u64] {
        self.words
    }

    /// The frames, leaf first; synthetic ones among them.
    pub fn frames(&self) -> impl DoubleEndedIterator<Item = RawFrame> + ExactSizeIterator + 'hand {
        self.words.iter().map(|word| RawFrame(*word))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_frame_keeps_its_handle_and_its_line() {
        for handle in [8, 0x7fff_ffff_fff8, 0xffff_ffff_fff8, Synthetic::Gc as u64] {
            for line in [0, 1, 524_287] {
                let frame = RawFrame::new(handle, line);
                assert_eq!((frame.handle(), frame.line()), (handle, line as u32));
            }
        }
    }

    #[test]
    fn a_line_that_does_not_fit_is_unknown_and_leaves_the_handle_alone() {
        for line in [-1, i32::MIN, 524_288, i32::MAX] {
            let frame = RawFrame::new(0x7fff_ffff_fff8, line);
            assert_eq!((frame.handle(), frame.line()), (0x7fff_ffff_fff8, 0));
        }
    }
}
