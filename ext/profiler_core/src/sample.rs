//! What crosses the ring: a [`Stamp`] and the frames of one stack, leaf first, as words.
//!
//! The clocks are absolute. Who counts how much time a record stands for is the aggregate, from the
//! clocks of the record before: so a record that was dropped carries its time to the next by itself,
//! and two sessions with different spans can read the same record.
//!
//! ```text
//! word 0   thread (32 bits) | state (8) | unused (8) | number of frames (16)
//! word 1   CPU clock of the thread, ns
//! word 2   monotonic clock, ns
//! word 3   CPU clock of the thread at its birth, ns
//! word 4   label set (32) | scope (32)
//! then     the handles of the frames, one a word
//! then     their lines, two a word
//! ```

use ::core::prelude::rust_2021::*;

use crate::ids::{LabelSetId, ScopeId, ThreadId};
use crate::ring::{Full, Ring};

/// Words before the frames.
const STAMP_WORDS: usize = 5;

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

/// One frame before names: a handle of the VM (or a [`Synthetic`]) and the line that runs, 0 when unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RawFrame {
    /// Opaque to this crate.
    pub handle: u64,
    /// Line in the file, from 1; 0 is unknown.
    pub line: u32,
}

/// Frames that no VM knows. Their handles are small numbers, which no VM object has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Synthetic {
    /// Frames left out of a stack that is too deep.
    Truncated = 1,
    /// The collector of garbage.
    Gc = 2,
    /// Time of a thread of which no stack was ever taken.
    Unsampled = 3,
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
        RawFrame { handle: self as u64, line: 0 }
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
    let len = STAMP_WORDS + frames + frames.div_ceil(2);

    ring.try_push(len, |slot| {
        slot.write(u64::from(stamp.thread.0) | (stamp.state as u64) << 32 | (frames as u64) << 48);
        slot.write(stamp.cpu_ns);
        slot.write(stamp.monotonic_ns);
        slot.write(stamp.born_cpu_ns);
        slot.write(u64::from(stamp.labels.0) | u64::from(stamp.scope.0) << 32);

        let (leaf_handles, rest) = walk.handles.split_at(leaf);
        let root_handles = rest.split_at(rest.len() - root).1;
        leaf_handles.iter().for_each(|handle| slot.write(*handle));
        if cut {
            slot.write(Synthetic::Truncated as u64);
        }
        root_handles.iter().for_each(|handle| slot.write(*handle));

        let (leaf_lines, rest) = walk.lines.split_at(leaf);
        let root_lines = rest.split_at(rest.len() - root).1;
        if cut {
            let all = leaf_lines.iter().copied().chain(Some(0)).chain(root_lines.iter().copied());
            write_lines(slot, all);
        } else {
            write_lines(slot, leaf_lines.iter().copied());
        }
    })
}

#[inline]
fn write_lines(slot: &mut crate::ring::Slot<'_>, mut lines: impl Iterator<Item = i32>) {
    let word = |line: i32| if line > 0 { line as u64 } else { 0 };
    while let Some(low) = lines.next() {
        let high = lines.next().unwrap_or(0);
        slot.write(word(low) | word(high) << 32);
    }
}

/// A record in hand, as it came out of the ring.
#[derive(Clone, Copy, Debug)]
pub struct RawSample<'hand> {
    /// Everything but the frames.
    pub stamp: Stamp,
    handles: &'hand [u64],
    lines: &'hand [u64],
}

impl<'hand> RawSample<'hand> {
    /// Reads what [`push`] wrote; nothing when the words are no record.
    #[must_use]
    pub fn decode(words: &'hand [u64]) -> Option<Self> {
        let (stamp, frames) = words.split_at_checked(STAMP_WORDS)?;
        let &[head, cpu_ns, monotonic_ns, born_cpu_ns, ids] = stamp else { return None };
        let (handles, lines) = frames.split_at_checked((head >> 48) as usize)?;
        if lines.len() != handles.len().div_ceil(2) {
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
        Some(Self { stamp, handles, lines })
    }

    /// The handles, leaf first; synthetic ones among them.
    #[must_use]
    pub fn handles(&self) -> &'hand [u64] {
        self.handles
    }

    /// Handles and lines as they lie in the record: equal words are equal stacks.
    pub(crate) fn words(&self) -> impl Iterator<Item = u64> + 'hand {
        self.handles.iter().chain(self.lines.iter()).copied()
    }

    /// The frames, leaf first.
    pub fn frames(&self) -> impl DoubleEndedIterator<Item = RawFrame> + ExactSizeIterator + 'hand {
        let lines = self.lines;
        self.handles.iter().enumerate().map(move |(place, handle)| {
            let pair = lines.get(place / 2).copied().unwrap_or(0);
            RawFrame { handle: *handle, line: (pair >> (32 * (place % 2))) as u32 }
        })
    }
}
