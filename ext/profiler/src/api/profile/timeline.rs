//! The timeline for Ruby: part by part, as all at once can be a million objects.

use magnus::{Error, RArray, Ruby};
use profiler_core::analysis::markers::marker_sums;
use profiler_core::ids::Id;
use profiler_core::profile::SampleType;

use crate::api::profile::Profile;

impl Profile {
    /// Implements `profile._timeline_size`: returns the number of timeline events; nil without a timeline.
    pub(super) fn timeline_size(&self) -> Option<usize> {
        self.core.timeline.as_ref().map(|it| it.len())
    }

    /// Implements `Native.timeline_chunk(profile, place)`: returns a flat array of time, place of the
    /// aggregated sample in `Native.rows`, and weights, one timeline event after another; nil after the last
    /// chunk.
    pub(super) fn timeline_chunk(ruby: &Ruby, rb_self: &Self, place: usize) -> Result<Option<RArray>, Error> {
        let Some(events) = rb_self.core.timeline.as_ref().and_then(|it| it.chunk(place)) else {
            return Ok(None);
        };
        let numbers = ruby.ary_new();
        for event in events {
            numbers.push(event.time_ns)?;
            numbers.push(event.row.index())?;
            SampleType::ALL.into_iter().try_for_each(|of| numbers.push(event.weights.get(of)))?;
        }
        Ok(Some(numbers))
    }

    /// Implements `profile._markers`: returns name, thread id, thread name, start since 1970 and length (ns)
    /// of each marker.
    pub(super) fn markers(ruby: &Ruby, rb_self: &Self) -> RArray {
        ruby.ary_from_iter(rb_self.core.markers.iter().map(|marker| {
            let thread = (marker.thread.native_id, marker.thread.name.as_str());
            (marker.name.as_str(), thread.0, thread.1, marker.started_at_ns, marker.duration_ns)
        }))
    }

    /// `profile._marker_sums(limit)`: `[name, count, total, largest, place]` of each name (ns), where `place` is `[name, path, line]`
    /// or nil; limit 0 is all.
    pub(super) fn marker_sums(ruby: &Ruby, rb_self: &Self, limit: usize) -> Result<RArray, Error> {
        let sums = rb_self.ask(ruby, marker_sums)?;
        let limit = if limit == 0 { sums.len() } else { limit };
        let rows = ruby.ary_new();
        for sum in sums.into_iter().take(limit) {
            let function = sum.place.and_then(|it| Some((rb_self.core.function(it.function)?, it.line)));
            let place = function.map(|(it, line)| (it.name.as_str(), it.path.as_str(), line));
            rows.push((sum.name.as_str(), sum.count, sum.total_ns, sum.largest_ns, place))?;
        }
        Ok(rows)
    }
}
