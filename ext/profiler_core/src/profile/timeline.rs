//! The timeline of a profile: the parts of its aggregated samples, each with its time.
//!
//! An aggregated sample says how much a stack weighs, but not when. A [`TimelineEvent`] is one part of it:
//! the weight of one record, or a weight that was attributed at the end. The thread, stack, state and labels
//! are stored only in the aggregated sample, so a change to the samples also changes the events. The events
//! of an aggregated sample together weigh as much as the sample, unless some were dropped. At most
//! [`MAX_EVENTS`] are kept; beyond that, the oldest are dropped and counted.
//!
//! In memory, events are bytes, about ten each: numbers of seven bits per byte, with times and rows as
//! differences from the previous event. They are stored in chunks that can be read one by one, so the oldest
//! are dropped without reading the others. A full chunk never changes, so a copy shares it.
//!
//! All weights of a session pass through one place (`Aggregate::weigh`), so events that are recorded one by
//! one or settled at the end add up to the aggregated samples. `tests/timeline/` checks this for random
//! sessions, and for the effects of merging, trimming, `gc:` and files. An event needs no stack, thread or
//! labels of its own, and keeps no handle alive that the aggregated sample does not.
//!
//! Records of several threads can be slightly out of order in the ring, and the rest of a thread's time
//! arrives late. Events are sorted once the names are there, outside the lock. An event takes 9 to 13 bytes,
//! and adds about 0.2 us to the collector's work on a record.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use crate::ids::RowId;
use crate::profile::weights::{SampleType, Weights};

#[cfg(all(test, not(loom)))]
mod tests;

/// The maximum number of events that a timeline keeps.
pub const MAX_EVENTS: usize = 1_000_000;

/// The number of events in a chunk, which is also how many are dropped at once when there are too many.
const CHUNK_EVENTS: usize = 4_096;

/// A timeline event: a part of an aggregated sample, with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelineEvent {
    /// The end of the time that the event stands for, ns since the start of the profile.
    pub time_ns: u64,
    /// The aggregated sample, as an index in [`crate::profile::Profile::samples`].
    pub row: RowId,
    /// The weights of the part.
    pub weights: Weights,
}

/// Compressed events. In a [`crate::profile::Profile`] they are in chronological order.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    full: VecDeque<Arc<Chunk>>,
    /// The newest chunk, which still grows.
    open: Chunk,
    kept: usize,
    dropped: u64,
}

impl Timeline {
    /// Appends an event, unless it has no weight.
    pub fn push(&mut self, event: &TimelineEvent) {
        if event.weights == Weights::default() {
            return;
        }
        if self.open.events == CHUNK_EVENTS {
            let mut full = std::mem::take(&mut self.open);
            full.bytes.shrink_to_fit();
            self.full.push_back(Arc::new(full));
        }
        self.open.push(event);
        self.kept += 1;
        if self.kept > MAX_EVENTS {
            let oldest = self.full.pop_front().map_or(0, |it| it.events);
            self.kept -= oldest;
            self.drop_more(oldest as u64);
        }
    }

    /// Returns the number of events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.kept
    }

    /// Returns whether there are no events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kept == 0
    }

    /// Returns the number of events that were dropped because there were too many. These are the oldest ones.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Counts events that were dropped before they reached this timeline.
    pub fn drop_more(&mut self, events: u64) {
        self.dropped = self.dropped.saturating_add(events);
    }

    /// Iterates over all events.
    pub fn iter(&self) -> impl Iterator<Item = TimelineEvent> + '_ {
        self.chunks().flat_map(Chunk::iter)
    }

    /// Iterates over the events of one chunk, by its index, for callers that cannot take all at once. Returns
    /// `None` after the last chunk.
    pub fn chunk(&self, index: usize) -> Option<impl Iterator<Item = TimelineEvent> + '_> {
        self.chunks().nth(index).map(Chunk::iter)
    }

    /// Returns the size of the events in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.chunks().map(|it| it.bytes.len()).sum()
    }

    /// Returns the timeline with other rows, without the events that have none.
    #[must_use]
    pub(crate) fn with_rows(&self, row: impl Fn(RowId) -> Option<RowId>) -> Self {
        let mut timeline = Self { dropped: self.dropped, ..Self::default() };
        for event in self.iter() {
            if let Some(row) = row(event.row) {
                timeline.push(&TimelineEvent { row, ..event });
            }
        }
        timeline
    }

    /// Returns the timeline with other rows, in chronological order. Events of the same time keep their
    /// order.
    #[must_use]
    pub(crate) fn in_order(&self, row: impl Fn(RowId) -> Option<RowId>) -> Self {
        let mut timeline = Self { dropped: self.dropped, ..Self::default() };
        // For each chunk, the earliest time of all chunks after it: events that are not later have their
        // final place.
        let mut later_from: Vec<u64> = self.chunks().map(|it| it.earliest_ns).collect();
        later_from.rotate_left(1);
        later_from.pop();
        later_from.push(u64::MAX);
        later_from.iter_mut().rev().fold(u64::MAX, |least, time| {
            *time = least.min(*time);
            *time
        });
        let mut pending = Vec::new();
        for (chunk, later_from) in self.chunks().zip(later_from) {
            pending.extend(chunk.iter().filter_map(|it| row(it.row).map(|row| TimelineEvent { row, ..it })));
            pending.sort_by_key(|it| it.time_ns);
            let ready = pending.partition_point(|it| it.time_ns <= later_from);
            pending.drain(..ready).for_each(|it| timeline.push(&it));
        }
        timeline
    }

    /// Merges several timelines that are each in chronological order.
    #[must_use]
    pub(crate) fn merged(parts: impl IntoIterator<Item = impl Iterator<Item = TimelineEvent>>) -> Self {
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

/// Returns the time of the next event of the part at `place`.
fn next<It: Iterator<Item = TimelineEvent>>(
    place: usize,
    part: &mut std::iter::Peekable<It>,
) -> Option<Reverse<(u64, usize)>> {
    part.peek().map(|it| Reverse((it.time_ns, place)))
}

impl PartialEq for Timeline {
    /// Compares the events, regardless of the chunks.
    fn eq(&self, other: &Self) -> bool {
        self.dropped == other.dropped && self.iter().eq(other.iter())
    }
}

impl Eq for Timeline {}

impl FromIterator<TimelineEvent> for Timeline {
    fn from_iter<Events: IntoIterator<Item = TimelineEvent>>(events: Events) -> Self {
        let mut timeline = Self::default();
        events.into_iter().for_each(|it| timeline.push(&it));
        timeline
    }
}

/// Events as bytes, each encoded relative to the one before. No other chunk is needed to read a chunk.
///
/// An event consists of the set of sample types that have a weight, the distance of its time, the distance of
/// its row, and the weights. The set has a bit for each type, from bit 1 on; bit 0 is set if the time goes
/// back. The distance of the row has bit 0 set if the row goes back. All are numbers of seven bits per byte,
/// lowest first, with the eighth bit set in all bytes but the last.
#[derive(Clone, Debug, Default)]
struct Chunk {
    bytes: Vec<u8>,
    events: usize,
    earliest_ns: u64,
    last_ns: u64,
    last_row: u32,
}

impl Chunk {
    fn push(&mut self, event: &TimelineEvent) {
        let TimelineEvent { time_ns, row, weights } = *event;
        let back = time_ns < self.last_ns;
        let has = |of: &SampleType| weights.get(*of) > 0;
        let types = SampleType::ALL.into_iter().filter(has).fold(0, |bits, it| bits | 2 << it as u64);
        write_varint(&mut self.bytes, types | u64::from(back));
        write_varint(&mut self.bytes, time_ns.abs_diff(self.last_ns));
        write_varint(
            &mut self.bytes,
            u64::from(row.0.abs_diff(self.last_row)) << 1 | u64::from(row.0 < self.last_row),
        );
        SampleType::ALL.into_iter().filter(has).for_each(|it| write_varint(&mut self.bytes, weights.get(it)));
        self.earliest_ns = if self.events == 0 { time_ns } else { self.earliest_ns.min(time_ns) };
        self.events += 1;
        (self.last_ns, self.last_row) = (time_ns, row.0);
    }

    fn iter(&self) -> impl Iterator<Item = TimelineEvent> + '_ {
        let (mut bytes, mut time_ns, mut row) = (self.bytes.as_slice(), 0_u64, 0_u32);
        std::iter::from_fn(move || {
            let types = take(&mut bytes)?;
            let (time, rows) = (take(&mut bytes)?, take(&mut bytes)?);
            let far = (rows >> 1) as u32;
            time_ns = if types & 1 > 0 { time_ns.wrapping_sub(time) } else { time_ns.wrapping_add(time) };
            row = if rows & 1 > 0 { row.wrapping_sub(far) } else { row.wrapping_add(far) };
            let mut weights = Weights::default();
            // Skip from set bit to set bit: there are ten types, and two or three are set.
            let mut left = types >> 1;
            while let Some(of) = SampleType::ALL.get(left.trailing_zeros() as usize) {
                weights.set(*of, take(&mut bytes)?);
                left &= left - 1;
            }
            Some(TimelineEvent { time_ns, row: RowId(row), weights })
        })
    }
}

fn write_varint(bytes: &mut Vec<u8>, mut number: u64) {
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
