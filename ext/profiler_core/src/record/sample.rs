//! What crosses the ring: a [`Stamp`] and the frames of one stack, leaf first, as words.
//!
//! The clocks are absolute. Who counts how much time a record stands for is the aggregate, from the
//! clocks of the record before: so a record that was dropped carries its time to the next by itself,
//! and two sessions with different spans can read the same record.
//!
//! ```text
//! word 0      thread (32 bits) | state (8) | kind (8) | number of frames (16)
//! word 1      CPU clock of the thread, ns
//! word 2      monotonic clock, ns
//! word 3      CPU clock of the thread at its birth, ns
//! word 4      label set (32) | scope (32)
//! word 5 - 8  its wall clocks: running, waiting, waiting for the GVL, collecting garbage, ns
//! then        a few words more where the kind has more to say, and the frames, one a word
//! ```

use ::core::prelude::rust_2021::*;

use crate::ids::{LabelSetId, ScopeId, ThreadId};
use crate::record::frame::{RawFrame, Synthetic};
pub use crate::record::kind::{Allocation, Kind, ObjectId, State};
use crate::record::ring::{Full, Ring, Slot};

/// Words of the stamp.
const STAMP_WORDS: usize = 9;

/// Where a thread's wall clock time has gone since somebody began to measure it, ns: four clocks that only go
/// forward. Together they are its wall clock; all are 0 while nobody measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WallTimes {
    /// Neither of the others.
    pub running_ns: u64,
    /// Blocked, asleep, or in C code that let go of the GVL.
    pub waiting_ns: u64,
    /// Waiting for the GVL.
    pub gvl_ns: u64,
    /// Collecting garbage.
    pub gc_ns: u64,
}

impl WallTimes {
    /// The later reading of each clock.
    #[must_use]
    pub fn max(&self, other: &Self) -> Self {
        Self {
            running_ns: self.running_ns.max(other.running_ns),
            waiting_ns: self.waiting_ns.max(other.waiting_ns),
            gvl_ns: self.gvl_ns.max(other.gvl_ns),
            gc_ns: self.gc_ns.max(other.gc_ns),
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
    /// Its wall clocks; at its birth all were 0.
    pub walls: WallTimes,
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
/// [`Synthetic::Truncated`] between (at the root where the root is missing). One of garbage that
/// was collected has [`Synthetic::Gc`] as its leaf; a wait without frames is that of a thread that has not begun, and
/// blame without frames that of one that has ended.
///
/// # Signal safety
/// Runs in the handler: neither allocates nor waits.
///
/// # Errors
/// [`Full`], and nothing was written.
#[inline]
pub fn push(ring: &Ring, kind: Kind, stamp: &Stamp, walk: Walk<'_>, depth: usize) -> Result<(), Full> {
    let have = walk.handles.len().min(walk.lines.len());
    let made_up = kind.leaf(stamp.thread, have);
    // What we add has to find room among the `depth`, and a count has 16 bits in the record.
    let depth = depth.clamp(3, usize::from(u16::MAX)) - usize::from(made_up.is_some());
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
    let frames = usize::from(made_up.is_some()) + leaf + usize::from(cut) + root;

    ring.try_push(words_before(kind) + frames, |slot| {
        write_stamp(slot, stamp, kind, frames);
        if let Some(made_up) = made_up {
            slot.write(made_up.frame().word());
        }
        let frame = |(handle, line): (&u64, &i32)| RawFrame::new(*handle, *line).word();
        let seen = || walk.handles.iter().zip(walk.lines);
        slot.extend(seen().take(leaf).map(frame));
        if cut {
            slot.write(Synthetic::Truncated.frame().word());
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
    ring.try_push(STAMP_WORDS, |slot| write_stamp(slot, stamp, Kind::Switch, 0))
}

/// Writes a record that says that the wait of which the thread's last one was lasted up to `stamp`.
///
/// # Signal safety
/// As for [`push`].
///
/// # Errors
/// [`Full`], and nothing was written.
pub fn push_still(ring: &Ring, stamp: &Stamp) -> Result<(), Full> {
    ring.try_push(STAMP_WORDS, |slot| write_stamp(slot, stamp, Kind::Still, 0))
}

/// Words before the frames.
#[inline]
fn words_before(kind: Kind) -> usize {
    STAMP_WORDS + kind.encode().1.words().len()
}

#[inline]
fn write_stamp(slot: &mut Slot<'_>, stamp: &Stamp, kind: Kind, frames: usize) {
    let (kind, more) = kind.encode();
    let what = u64::from(stamp.state as u8) | kind << 8;
    slot.write(u64::from(stamp.thread.0) | what << 32 | (frames as u64) << 48);
    slot.write(stamp.cpu_ns);
    slot.write(stamp.monotonic_ns);
    slot.write(stamp.born_cpu_ns);
    slot.write(u64::from(stamp.labels.0) | u64::from(stamp.scope.0) << 32);
    let WallTimes { running_ns, waiting_ns, gvl_ns, gc_ns } = stamp.walls;
    slot.extend([running_ns, waiting_ns, gvl_ns, gc_ns].into_iter());
    slot.extend(more.words().iter().copied());
}

/// A record in hand, as it came out of the ring.
#[derive(Clone, Copy, Debug)]
pub struct RawSample<'hand> {
    /// Everything but the frames.
    pub stamp: Stamp,
    /// What it says.
    pub kind: Kind,
    words: &'hand [u64],
}

impl<'hand> RawSample<'hand> {
    /// Reads what [`push`] wrote; nothing when the words are no record.
    #[must_use]
    pub fn decode(words: &'hand [u64]) -> Option<Self> {
        let (stamp, mut words) = words.split_at_checked(STAMP_WORDS)?;
        let &[head, cpu_ns, monotonic_ns, born_cpu_ns, ids, running_ns, waiting_ns, gvl_ns, gc_ns] = stamp
        else {
            return None;
        };
        let kind = Kind::decode((head >> 40) as u8, &mut words)?;
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
            walls: WallTimes { running_ns, waiting_ns, gvl_ns, gc_ns },
        };
        Some(Self { stamp, kind, words })
    }

    /// The frames as they lie in the record: equal words are equal stacks.
    pub(crate) fn words(&self) -> &'hand [u64] {
        self.words
    }

    /// All handles in it: those of its frames, synthetic ones among them, and the class of what was made.
    pub(crate) fn handles(&self) -> impl Iterator<Item = u64> + 'hand {
        let class = match self.kind {
            Kind::Allocation(allocation) => allocation.class.handle(),
            _ => None,
        };
        self.frames().map(RawFrame::handle).chain(class)
    }

    /// The frames, leaf first; synthetic ones among them.
    pub fn frames(&self) -> impl DoubleEndedIterator<Item = RawFrame> + ExactSizeIterator + 'hand {
        self.words.iter().map(|word| RawFrame::from_word(*word))
    }
}
