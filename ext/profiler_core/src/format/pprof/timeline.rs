//! Encoding and decoding of the timeline.
//!
//! The events are stored in columns before the rest of the file. So the rest still ends with the part that
//! shows whether a file was cut.

use super::messages;
use crate::error::Error;
use crate::ids::{Id, RowId};
use crate::profile::timeline::{Timeline, TimelineEvent, MAX_EVENTS};
use crate::profile::{Profile, SampleType, Weights};

/// Limits a number like the values of samples, so that no event weighs more than its row.
fn signed(number: u64) -> u64 {
    number.min(i64::MAX as u64)
}

/// Encodes the timeline. `place` returns the place of a row's sample in the message, if it has one.
pub(super) fn encode(profile: &Profile, place: impl Fn(RowId) -> Option<u64>) -> Option<messages::Timeline> {
    let timeline = profile.timeline.as_ref()?;
    let mut message = messages::Timeline { dropped: timeline.dropped(), ..messages::Timeline::default() };
    let column = |of: &SampleType| (*of, messages::Column::default());
    let mut columns: Vec<_> = profile.sample_types.iter().map(column).collect();
    let (mut last_ns, mut last_row) = (0, 0);
    for event in timeline.iter() {
        let Some(row) = place(event.row).and_then(|row| i64::try_from(row).ok()) else { continue };
        message.time_delta.push(event.time_ns.saturating_sub(last_ns));
        message.sample_delta.push(row - last_row);
        columns.iter_mut().for_each(|(of, it)| it.value.push(signed(event.weights.get(*of))));
        (last_ns, last_row) = (event.time_ns.max(last_ns), row);
    }
    message.column = columns.into_iter().map(|(_, it)| it).collect();
    for column in &mut message.column {
        if column.value.iter().all(|it| *it == 0) {
            column.value.clear();
        }
    }
    Some(message)
}

/// Decodes the timeline of the profile that was read so far.
pub(super) fn decode(message: &messages::Timeline, profile: &Profile) -> Result<Timeline, Error> {
    let malformed = |what: &str| Err(Error::malformed(format!("its timeline {what}")));
    let events = message.time_delta.len();
    if events > MAX_EVENTS {
        return malformed(&format!("has {events} events (allowed: up to {MAX_EVENTS})"));
    }
    let whole = |it: &messages::Column| it.value.is_empty() || it.value.len() == events;
    let columns = &message.column;
    if message.sample_delta.len() != events || !columns.iter().all(whole) {
        return malformed("has columns of different lengths");
    }
    if columns.len() != profile.sample_types.len() {
        return malformed("does not have one column per sample type");
    }
    // The events of a row must not weigh more than the row, so that a later sum cannot overflow.
    let mut left: Vec<Weights> = profile.samples.iter().map(|it| it.weights).collect();
    let mut timeline = Timeline::default();
    timeline.drop_more(message.dropped);
    let (mut time_ns, mut row) = (0_u64, 0_i64);
    for (place, (time, rows)) in message.time_delta.iter().zip(&message.sample_delta).enumerate() {
        (time_ns, row) = match (time_ns.checked_add(*time), row.checked_add(*rows)) {
            (Some(time_ns), Some(row)) => (time_ns, row),
            _ => return malformed("has numbers that are too large"),
        };
        let Some((index, left)) =
            usize::try_from(row).ok().and_then(|index| Some((index, left.get_mut(index)?)))
        else {
            return malformed(&format!("has an event of sample {row} of {}", profile.samples.len()));
        };
        let mut weights = Weights::default();
        for (of, column) in profile.sample_types.iter().zip(columns) {
            let value = column.value.get(place).copied().unwrap_or(0);
            let Some(rest) = left.get(*of).checked_sub(value) else {
                return malformed(&format!("weighs more than sample {row} does"));
            };
            left.set(*of, rest);
            weights.set(*of, value);
        }
        timeline.push(&TimelineEvent { time_ns, row: RowId::from_index(index), weights });
    }
    Ok(timeline)
}
