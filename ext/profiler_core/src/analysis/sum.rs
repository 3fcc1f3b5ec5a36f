//! The sum of profiles, for all code that merges rows.

use crate::ids::{FunctionId, Id, RowId, ThreadId};
use crate::profile::table_builder::{moved, SampleKey, TableBuilder};
use crate::profile::timeline::{Timeline, TimelineEvent};
use crate::profile::{Function, Profile, Thread};

/// The sum of profiles. Equal rows are merged.
#[derive(Default)]
pub(super) struct ProfileSum {
    tables: TableBuilder,
    /// The start of the first profile, ns since 1970 UTC.
    began_at_ns: Option<u64>,
    timelines: Vec<Timed>,
}

/// The timeline of an added profile.
struct Timed {
    timeline: Timeline,
    /// The start of the profile, ns since 1970 UTC.
    began_at_ns: u64,
    /// The new ids of the profile's rows.
    rows: Vec<RowId>,
}

impl Timed {
    /// Iterates over the events with their new rows, and with times counted from `began_at_ns`.
    fn events(&self, began_at_ns: u64) -> impl Iterator<Item = TimelineEvent> + '_ {
        let later_ns = self.began_at_ns.saturating_sub(began_at_ns);
        self.timeline.iter().filter_map(move |event| {
            let row = *self.rows.get(event.row.index())?;
            Some(TimelineEvent { row, time_ns: event.time_ns.saturating_add(later_ns), ..event })
        })
    }
}

impl ProfileSum {
    /// Adds the rows of a profile, with its functions renamed by `renamed`.
    pub(super) fn add(&mut self, profile: &Profile, renamed: impl Fn(&Function) -> Function) {
        let functions: Vec<FunctionId> =
            profile.functions.iter().map(|it| self.tables.function(renamed(it))).collect();
        let stacks = self.tables.add_stacks(&functions, &profile.frames, &profile.stacks);
        let threads: Vec<ThreadId> =
            profile.threads.iter().map(|it| self.tables.thread(it.clone())).collect();

        let mut rows = Vec::with_capacity(profile.samples.len());
        for sample in &profile.samples {
            let thread = threads.get(sample.thread).copied();
            // A row without a thread keeps its weight, though without a name.
            let thread = thread.unwrap_or_else(|| self.tables.thread(Thread::default()));
            let (stack, labels) = (moved(&stacks, sample.stack), sample.labels.clone());
            let row = SampleKey { stack, thread, state: sample.state, labels };
            rows.push(self.tables.add_row(row, &sample.weights));
        }
        let began_at_ns = profile.meta.started_at_ns;
        self.began_at_ns = Some(self.began_at_ns.map_or(began_at_ns, |it| it.min(began_at_ns)));
        // A copy of a timeline shares its chunks.
        let timeline = profile.timeline.clone();
        self.timelines.extend(timeline.map(|timeline| Timed { timeline, began_at_ns, rows }));
    }

    /// Merges all timelines into one that starts with the first profile.
    fn timeline(&self) -> Option<Timeline> {
        let began_at_ns = self.began_at_ns.unwrap_or(0);
        let mut timeline = Timeline::merged(self.timelines.iter().map(|it| it.events(began_at_ns)));
        self.timelines.iter().for_each(|it| timeline.drop_more(it.timeline.dropped()));
        (!self.timelines.is_empty()).then_some(timeline)
    }

    /// Returns a profile of these tables with the header of the one profile that was added.
    pub(super) fn with_header_of(self, profile: &Profile) -> Profile {
        Profile {
            sample_types: profile.sample_types.clone(),
            markers: profile.markers.clone(),
            requests: profile.requests.clone(),
            memory: profile.memory.clone(),
            meta: profile.meta.clone(),
            stats: profile.stats,
            ..self.into_profile()
        }
    }

    /// Returns a profile of these tables without a header.
    pub(super) fn into_profile(self) -> Profile {
        Profile { timeline: self.timeline(), ..self.tables.into_profile() }
    }
}
