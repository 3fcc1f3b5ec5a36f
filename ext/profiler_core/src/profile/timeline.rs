//! What happened when: the shares that make up the rows of a profile, each with its time.
//!
//! A row says how much a stack weighs, not when. A [`Moment`] is one share of a row: what one record gave it, and
//! at the end what was settled. So whose it is, its stack, state and labels stand in the row alone, what is done to the
//! rows is done to the moments as well, and the moments of a row together weigh what the row weighs, unless some had to
//! go: at most [`MAX_MOMENTS`] are kept, then the oldest go and are counted.
//!
//! In memory moments are bytes, some ten each: numbers of seven bits a byte, times and rows as differences to the
//! moment before. They lie in chunks that can be read one by one, so that the oldest go without a look at the others,
//! and a chunk that is full never changes, so that a copy shares it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use crate::ids::RowId;
use crate::profile::weights::{SampleType, Weights};

#[cfg(all(test, not(loom)))]
mod tests;

/// The most that a timeline keeps.
pub const MAX_MOMENTS: usize = 1_000_000;

/// Moments of a chunk: so many go at once when there are too many.
const CHUNK_MOMENTS: usize = 4_096;

/// A share of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// When it was given, ns since the start of the profile: at the end of the time that it weighs.
    pub time_ns: u64,
    /// The row, a place in [`crate::profile::Profile::samples`].
    pub row: RowId,
    /// What the row got.
    pub weights: Weights,
}

/// See the module. That of a [`crate::profile::Profile`] is in the order of time.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    full: VecDeque<Arc<Chunk>>,
    /// The newest, which still grows.
    open: Chunk,
    kept: usize,
    dropped: u64,
}

impl Timeline {
    /// Adds a moment behind all others. One that weighs nothing is none.
    pub fn push(&mut self, moment: &Moment) {
        if moment.weights == Weights::default() {
            return;
        }
        if self.open.moments == CHUNK_MOMENTS {
            let mut full = std::mem::take(&mut self.open);
            full.bytes.shrink_to_fit();
            self.full.push_back(Arc::new(full));
        }
        self.open.push(moment);
        self.kept += 1;
        if self.kept > MAX_MOMENTS {
            let oldest = self.full.pop_front().map_or(0, |it| it.moments);
            self.kept -= oldest;
            self.drop_more(oldest as u64);
        }
    }

    /// How many are here.
    #[must_use]
    pub fn len(&self) -> usize {
        self.kept
    }

    /// Whether none is here.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kept == 0
    }

    /// How many were too many: the oldest.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// So many more were too many, before it came to this timeline.
    pub fn drop_more(&mut self, moments: u64) {
        self.dropped = self.dropped.saturating_add(moments);
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Moment> + '_ {
        self.chunks().flat_map(Chunk::iter)
    }

    /// Those at one place of many, from 0 on, for who cannot take all at once. Nothing behind the last.
    pub fn part(&self, place: usize) -> Option<impl Iterator<Item = Moment> + '_> {
        self.chunks().nth(place).map(Chunk::iter)
    }

    /// Bytes that they take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.chunks().map(|it| it.bytes.len()).sum()
    }

    /// With other rows, or without those that have none.
    #[must_use]
    pub(crate) fn with_rows(&self, row: impl Fn(RowId) -> Option<RowId>) -> Self {
        let mut timeline = Self { dropped: self.dropped, ..Self::default() };
        for moment in self.iter() {
            if let Some(row) = row(moment.row) {
                timeline.push(&Moment { row, ..moment });
            }
        }
        timeline
    }

    /// The same, with other rows, in the order of time. What is of the same time stays in its order.
    #[must_use]
    pub(crate) fn in_order(&self, row: impl Fn(RowId) -> Option<RowId>) -> Self {
        let mut timeline = Self { dropped: self.dropped, ..Self::default() };
        // For each chunk when the earliest of those behind it is: what is no later has its place.
        let mut later_from: Vec<u64> = self.chunks().map(|it| it.earliest_ns).collect();
        later_from.rotate_left(1);
        later_from.pop();
        later_from.push(u64::MAX);
        later_from.iter_mut().rev().fold(u64::MAX, |least, it| {
            *it = least.min(*it);
            *it
        });
        let mut pending = Vec::new();
        for (chunk, later_from) in self.chunks().zip(later_from) {
            pending.extend(chunk.iter().filter_map(|it| row(it.row).map(|row| Moment { row, ..it })));
            pending.sort_by_key(|it| it.time_ns);
            let ready = pending.partition_point(|it| it.time_ns <= later_from);
            pending.drain(..ready).for_each(|it| timeline.push(&it));
        }
        timeline
    }

    /// One of many that are each in the order of time.
    #[must_use]
    pub(crate) fn merged(parts: impl IntoIterator<Item = impl Iterator<Item = Moment>>) -> Self {
        let mut parts: Vec<_> = parts.into_iter().map(Iterator::peekable).collect();
        let first = |(place, it): (usize, &mut std::iter::Peekable<_>)| next(place, it);
        let mut waiting: BinaryHeap<_> = parts.iter_mut().enumerate().filter_map(first).collect();
        let mut timeline = Self::default();
        while let Some(Reverse((_, place))) = waiting.pop() {
            let Some(part) = parts.get_mut(place) else { continue };
            part.next().iter().for_each(|it| timeline.push(it));
            waiting.extend(next(place, part));
        }
        timeline
    }

    fn chunks(&self) -> impl Iterator<Item = &Chunk> {
        self.full.iter().map(Arc::as_ref).chain(std::iter::once(&self.open))
    }
}

/// When the part at `place` goes on, if it does.
fn next<It: Iterator<Item = Moment>>(
    place: usize,
    part: &mut std::iter::Peekable<It>,
) -> Option<Reverse<(u64, usize)>> {
    part.peek().map(|it| Reverse((it.time_ns, place)))
}

impl PartialEq for Timeline {
    /// Whatever the chunks.
    fn eq(&self, other: &Self) -> bool {
        self.dropped == other.dropped && self.iter().eq(other.iter())
    }
}

impl Eq for Timeline {}

impl FromIterator<Moment> for Timeline {
    fn from_iter<Moments: IntoIterator<Item = Moment>>(moments: Moments) -> Self {
        let mut timeline = Self::default();
        moments.into_iter().for_each(|it| timeline.push(&it));
        timeline
    }
}

/// Moments as bytes, each after the one before. Nothing of another chunk is needed to read it.
///
/// A moment is: which sample types have a weight (a bit each, from bit 1 on; bit 0 if the time goes back), how far the
/// time goes, how far the row (bit 0 if back), and the weights. All are numbers of seven bits a byte, the lowest first,
/// with the eighth bit set in all bytes but the last.
#[derive(Clone, Debug, Default)]
struct Chunk {
    bytes: Vec<u8>,
    moments: usize,
    earliest_ns: u64,
    last_ns: u64,
    last_row: u32,
}

impl Chunk {
    fn push(&mut self, moment: &Moment) {
        let Moment { time_ns, row, weights } = *moment;
        let back = time_ns < self.last_ns;
        let has = |of: &SampleType| weights.get(*of) > 0;
        let types = SampleType::ALL.into_iter().filter(has).fold(0, |bits, it| bits | 2 << it as u64);
        put(&mut self.bytes, types | u64::from(back));
        put(&mut self.bytes, time_ns.abs_diff(self.last_ns));
        put(
            &mut self.bytes,
            u64::from(row.0.abs_diff(self.last_row)) << 1 | u64::from(row.0 < self.last_row),
        );
        SampleType::ALL.into_iter().filter(has).for_each(|it| put(&mut self.bytes, weights.get(it)));
        self.earliest_ns = if self.moments == 0 { time_ns } else { self.earliest_ns.min(time_ns) };
        self.moments += 1;
        (self.last_ns, self.last_row) = (time_ns, row.0);
    }

    fn iter(&self) -> impl Iterator<Item = Moment> + '_ {
        let (mut bytes, mut time_ns, mut row) = (self.bytes.as_slice(), 0_u64, 0_u32);
        std::iter::from_fn(move || {
            let types = take(&mut bytes)?;
            let (time, rows) = (take(&mut bytes)?, take(&mut bytes)?);
            let far = (rows >> 1) as u32;
            time_ns = if types & 1 > 0 { time_ns.wrapping_sub(time) } else { time_ns.wrapping_add(time) };
            row = if rows & 1 > 0 { row.wrapping_sub(far) } else { row.wrapping_add(far) };
            let mut weights = Weights::default();
            // From bit to bit: there are ten, and two or three are set.
            let mut left = types >> 1;
            while let Some(of) = SampleType::ALL.get(left.trailing_zeros() as usize) {
                weights.set(*of, take(&mut bytes)?);
                left &= left - 1;
            }
            Some(Moment { time_ns, row: RowId(row), weights })
        })
    }
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some(number)
}
