//! The tables of a profile built from those of others; for all that merges rows.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::ids::{FrameId, FunctionId, Id, Interner, LabelSetId, RowId, StackId, ThreadId};
use crate::profile::timeline::{Timeline, TimelineEvent};
use crate::profile::{Frame, Function, Node, Profile, Sample, Thread};
use crate::record::State;

/// The identity of a row.
type Key = (StackId, ThreadId, State, LabelSetId);

/// Growing tables in which equal entries are one.
#[derive(Default)]
pub(super) struct TableBuilder {
    functions: Interner<Function, FunctionId>,
    frames: Interner<Frame, FrameId>,
    stacks: Interner<Node, StackId>,
    threads: Interner<Thread, ThreadId>,
    labels: Interner<Vec<(String, String)>, LabelSetId>,
    samples: Vec<Sample>,
    places: HashMap<Key, usize, FxBuildHasher>,
    /// The start of the first profile, ns since 1970 UTC.
    began_at_ns: Option<u64>,
    timelines: Vec<Timed>,
}

/// The timeline of a profile that was added.
struct Timed {
    timeline: Timeline,
    /// The start of the profile, ns since 1970 UTC.
    began_at_ns: u64,
    /// The new ids of its rows.
    rows: Vec<RowId>,
}

impl Timed {
    /// The events of the rows where they went, with times from `began_at_ns` on.
    fn events(&self, began_at_ns: u64) -> impl Iterator<Item = TimelineEvent> + '_ {
        let later_ns = self.began_at_ns.saturating_sub(began_at_ns);
        self.timeline.iter().filter_map(move |it| {
            let row = *self.rows.get(it.row.index())?;
            Some(TimelineEvent { row, time_ns: it.time_ns.saturating_add(later_ns), ..it })
        })
    }
}

impl TableBuilder {
    /// Adds the rows of a profile, with its functions as `renamed` has them.
    pub(super) fn add(&mut self, profile: &Profile, renamed: impl Fn(&Function) -> Function) {
        let functions: Vec<FunctionId> =
            profile.functions.iter().map(|it| self.functions.intern(renamed(it))).collect();
        let framed = |it: &Frame| Frame { function: moved(&functions, it.function), ..*it };
        let frames: Vec<FrameId> = profile.frames.iter().map(|it| self.frames.intern(framed(it))).collect();
        // Parents come first there, so they do here.
        let mut stacks: Vec<StackId> = Vec::with_capacity(profile.stacks.len());
        for node in &profile.stacks {
            let parent = node.parent.map(|parent| moved(&stacks, parent));
            stacks.push(self.stacks.intern(Node { parent, frame: moved(&frames, node.frame) }));
        }
        let threads: Vec<ThreadId> =
            profile.threads.iter().map(|it| self.threads.intern(it.clone())).collect();

        let mut rows = Vec::with_capacity(profile.samples.len());
        for sample in &profile.samples {
            let thread = threads.get(sample.thread).copied();
            // A row of no thread keeps its weight, if not a name.
            let thread = thread.unwrap_or_else(|| self.threads.intern(Thread::default()));
            rows.push(self.add_row(sample, moved(&stacks, sample.stack), thread));
        }
        let began_at_ns = profile.meta.started_at_ns;
        self.began_at_ns = Some(self.began_at_ns.map_or(began_at_ns, |it| it.min(began_at_ns)));
        // A copy of a timeline shares what it is made of.
        let timeline = profile.timeline.clone();
        self.timelines.extend(timeline.map(|timeline| Timed { timeline, began_at_ns, rows }));
    }

    /// All timelines in one, from the begin of the first profile on.
    fn timeline(&self) -> Option<Timeline> {
        let began_at_ns = self.began_at_ns.unwrap_or(0);
        let mut timeline = Timeline::merged(self.timelines.iter().map(|it| it.events(began_at_ns)));
        self.timelines.iter().for_each(|it| timeline.drop_more(it.timeline.dropped()));
        (!self.timelines.is_empty()).then_some(timeline)
    }

    /// A profile of these tables with the header of the one profile that was added.
    pub(super) fn with_header_of(self, profile: &Profile) -> Profile {
        Profile {
            sample_types: profile.sample_types.clone(),
            markers: profile.markers.clone(),
            meta: profile.meta.clone(),
            stats: profile.stats,
            ..self.into_tables()
        }
    }

    /// A profile of these tables, without a header.
    pub(super) fn into_tables(self) -> Profile {
        Profile {
            timeline: self.timeline(),
            functions: self.functions.into_rows(),
            frames: self.frames.into_rows(),
            stacks: self.stacks.into_rows(),
            threads: self.threads.into_rows(),
            samples: self.samples,
            ..Profile::default()
        }
    }

    /// Adds a row, or its weights to the equal one, and returns its id.
    fn add_row(&mut self, sample: &Sample, stack: StackId, thread: ThreadId) -> RowId {
        let key = (stack, thread, sample.state, self.labels.intern(sample.labels.clone()));
        let place = *self.places.entry(key).or_insert(self.samples.len());
        match self.samples.get_mut(place) {
            Some(row) => row.weights.add(&sample.weights),
            None => self.samples.push(Sample { stack, thread: thread.index(), ..sample.clone() }),
        }
        RowId::from_index(place)
    }
}

/// The new id of `id`; a table always has the ids that it gave.
fn moved<I: Id>(to: &[I], id: I) -> I {
    to.get(id.index()).copied().unwrap_or(id)
}
