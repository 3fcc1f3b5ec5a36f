//! Records in the form in which they cross the ring: a [`Header`] and the frames of one stack, leaf first, as
//! words.
//!
//! The clocks are absolute. The aggregate of a session computes the weight of a record as the difference from
//! the clocks of the record before. So the record after a dropped one carries its time, and two sessions that
//! run at different times can read the same record.
//!
//! ```text
//! word 0      thread (32 bits) | state (7) | in a span (1) | kind (8) | number of frames (16)
//! word 1      CPU clock of the thread, ns
//! word 2      monotonic clock, ns
//! word 3      CPU clock of the thread at its start, ns
//! word 4      label set (32) | scope (32)
//! word 5 - 9  its wall clocks: running, waiting, waiting for the GVL, collecting garbage with a CPU and
//!             without one, ns
//! word 10     the part of its CPU clock that is left to a later record, ns
//! word 11     its clock of being ready to run without a CPU, ns
//! then        the span's words if the thread is in one, those of the kind, and the frames, one a word
//! ```

use ::core::prelude::rust_2021::*;

use super::frame::{RawFrame, Synthetic};
use super::ring::{Full, Ring, Slot};
use super::{Header, Kind, Span, State, WallTimes};
use crate::ids::{LabelSetId, ScopeId, ThreadId};
/// The number of words in the header.
const HEADER_WORDS: usize = 12;
/// The bit of word 0 that says whether a span follows the header.
const HAS_SPAN: u64 = 1 << 39;

/// A stack as the walk left it: handles and lines of equal length, leaf first. Also says whether the walk ran
/// out of space, in which case the root side is missing.
#[derive(Clone, Copy, Debug)]
pub struct Walk<'buffers> {
    /// The handle of each frame.
    pub handles: &'buffers [u64],
    /// The line of each frame; a negative line counts as unknown.
    pub lines: &'buffers [i32],
    /// Whether the root side is missing.
    pub rootless: bool,
}

/// Writes a record into the ring, keeping at most `depth` frames. A deeper stack keeps both ends, with
/// [`Synthetic::Truncated`] between them (or at the root, where the root is missing). A record of a garbage
/// collection has [`Synthetic::Gc`] as its leaf. A wait without frames belongs to a thread that has not begun
/// to run.
///
/// # Signal safety
/// Runs in the handler: neither allocates nor waits.
///
/// # Errors
/// Returns [`Full`] if the record does not fit; then the ring is unchanged.
#[inline]
pub fn push(ring: &Ring, kind: Kind, header: &Header, walk: Walk<'_>, depth: usize) -> Result<(), Full> {
    let have = walk.handles.len().min(walk.lines.len());
    let synthetic = kind.leaf(have);
    // The synthetic leaf counts towards `depth`, and the record stores a count in 16 bits.
    let depth = depth.clamp(3, usize::from(u16::MAX)) - usize::from(synthetic.is_some());
    let (leaf, root, cut) = if have > depth || (walk.rootless && have == depth) {
        let kept = depth - 1;
        if walk.rootless {
            (kept, 0, true)
        } else {
            (kept - kept / 2, kept / 2, true)
        }
    } else {
        (have, 0, walk.rootless)
    };
    let frames = usize::from(synthetic.is_some()) + leaf + usize::from(cut) + root;

    ring.try_push(words_before(kind, header) + frames, |slot| {
        write_header(slot, header, kind, frames);
        if let Some(synthetic) = synthetic {
            slot.write(synthetic.frame().word());
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

/// Writes a record of a label switch: from `header` on, the thread has the labels and the scope that it
/// names. The record has no weight. It tells sessions that select labels where one request ends.
///
/// # Errors
/// Returns [`Full`] if the record does not fit; then the ring is unchanged.
pub fn push_label_switch(ring: &Ring, header: &Header) -> Result<(), Full> {
    push_bare(ring, Kind::LabelSwitch, header)
}

/// Writes a record that extends the wait of the thread's last record up to `header`.
///
/// # Signal safety
/// Same as for [`push`].
///
/// # Errors
/// Returns [`Full`] if the record does not fit; then the ring is unchanged.
pub fn push_wait_extension(ring: &Ring, header: &Header) -> Result<(), Full> {
    push_bare(ring, Kind::WaitExtension, header)
}

/// Writes a record of a wait for the GVL from `since_ns` on the monotonic clock to `header`, whose clocks
/// include all of the wait.
///
/// # Signal safety
/// Same as for [`push`].
///
/// # Errors
/// Returns [`Full`] if the record does not fit; then the ring is unchanged.
pub fn push_gvl_wait(ring: &Ring, header: &Header, since_ns: u64) -> Result<(), Full> {
    push_bare(ring, Kind::GvlWait { since_ns }, header)
}

/// Writes a record without frames.
fn push_bare(ring: &Ring, kind: Kind, header: &Header) -> Result<(), Full> {
    ring.try_push(words_before(kind, header), |slot| write_header(slot, header, kind, 0))
}

/// Returns the number of words before the frames.
#[inline]
fn words_before(kind: Kind, header: &Header) -> usize {
    let span = if header.span.is_some() { Span::WORDS } else { 0 };
    HEADER_WORDS + span + kind.encode().1.words().len()
}

#[inline]
fn write_header(slot: &mut Slot<'_>, header: &Header, kind: Kind, frames: usize) {
    let (kind, more) = kind.encode();
    let what = u64::from(header.state as u8) | kind << 8;
    let span = header.span.as_ref().map(Span::words);
    let has_span = if span.is_some() { HAS_SPAN } else { 0 };
    slot.write(u64::from(header.thread.0) | what << 32 | has_span | (frames as u64) << 48);
    slot.write(header.cpu_ns);
    slot.write(header.monotonic_ns);
    slot.write(header.start_cpu_ns);
    slot.write(u64::from(header.labels.0) | u64::from(header.scope.0) << 32);
    let WallTimes { running_ns, waiting_ns, gvl_ns, gc_ns, gc_off_cpu_ns } = header.walls;
    slot.extend([running_ns, waiting_ns, gvl_ns, gc_ns, gc_off_cpu_ns].into_iter());
    slot.extend([header.deferred_cpu_ns, header.runnable_ns].into_iter());
    slot.extend(span.as_ref().map_or(&[][..], |it| it).iter().copied());
    slot.extend(more.words().iter().copied());
}

/// A record as it came out of the ring, in the scratch buffer of its reader.
#[derive(Clone, Copy, Debug)]
pub struct RawRecord<'scratch> {
    /// The header: everything but the frames.
    pub header: Header,
    /// The kind of the record.
    pub kind: Kind,
    words: &'scratch [u64],
}

impl<'scratch> RawRecord<'scratch> {
    /// Decodes a record that [`push`] wrote. Returns `None` if the words are not a record.
    #[must_use]
    pub fn decode(words: &'scratch [u64]) -> Option<Self> {
        let (header, mut words) = words.split_at_checked(HEADER_WORDS)?;
        let &[head, cpu_ns, monotonic_ns, start_cpu_ns, ids, running_ns, waiting_ns, gvl_ns, gc_ns, gc_off_cpu_ns, deferred_cpu_ns, runnable_ns] =
            header
        else {
            return None;
        };
        let mut span = None;
        if head & HAS_SPAN != 0 {
            let (first, rest) = words.split_first_chunk()?;
            (span, words) = (Span::from_words(*first), rest);
        }
        let kind = Kind::decode((head >> 40) as u8, &mut words)?;
        if words.len() != (head >> 48) as usize {
            return None;
        }
        let header = Header {
            thread: ThreadId(head as u32),
            state: State::from_bits((head >> 32) as u8 & 0x7f),
            labels: LabelSetId(ids as u32),
            scope: ScopeId((ids >> 32) as u32),
            span,
            cpu_ns,
            deferred_cpu_ns,
            runnable_ns,
            monotonic_ns,
            start_cpu_ns,
            walls: WallTimes { running_ns, waiting_ns, gvl_ns, gc_ns, gc_off_cpu_ns },
        };
        Some(Self { header, kind, words })
    }

    /// Returns the frames as words of the record: equal words are equal stacks.
    pub(crate) fn words(&self) -> &'scratch [u64] {
        self.words
    }

    /// Iterates over all handles in the record: those of its frames, including synthetic ones, and the class
    /// of an allocation.
    pub(crate) fn handles(&self) -> impl Iterator<Item = u64> + 'scratch {
        let class = match self.kind {
            Kind::Allocation(allocation) => allocation.class.handle(),
            _ => None,
        };
        self.frames().map(RawFrame::handle).chain(class)
    }

    /// Iterates over the frames, leaf first, including synthetic ones.
    pub fn frames(&self) -> impl DoubleEndedIterator<Item = RawFrame> + ExactSizeIterator + 'scratch {
        self.words.iter().map(|word| RawFrame::from_word(*word))
    }
}
