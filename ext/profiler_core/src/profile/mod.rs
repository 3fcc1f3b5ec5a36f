//! The finished thing: immutable, all names known, no handle of the VM in it.
//!
//! Tables of plain rows that point at each other by id. Parents come before children, so that one
//! pass forward is enough for whatever runs from the root to the leaves.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::ids::{FrameId, FunctionId, Id, RowId, StackId};
use crate::record::counters::Counts;
use crate::record::State;

mod footprint;
mod label_set;
pub mod timeline;
pub mod weights;

pub use label_set::{LabelSet, OTHER};
use timeline::Timeline;
pub use weights::{SampleType, Weights};

/// A method, block or the like: who it is and where it is written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Function {
    /// `Foo#bar`, `Foo.bar`, `block in <main>`, `(garbage collection)`.
    pub name: String,
    /// `Foo`, `#<singleton of Foo>`; empty where there is none.
    pub class_name: String,
    /// `bar`; empty where there is none.
    pub method_name: String,
    /// Absolute path of the file, `<cfunc>` for C, empty for what we made up.
    pub path: String,
    /// First line of the definition, from 1; 0 is unknown.
    pub first_line: u32,
}

/// What a function is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Ruby.
    Ruby,
    /// C, with a Ruby method in front of it.
    Cfunc,
    /// Nothing: the profiler made it up, `(garbage collection)`.
    Synthetic,
}

impl Kind {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ruby => "ruby",
            Self::Cfunc => "cfunc",
            Self::Synthetic => "synthetic",
        }
    }
}

impl Function {
    /// The path of what is written in C.
    pub const CFUNC: &'static str = "<cfunc>";

    /// What it is written in.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self.path.as_str() {
            Self::CFUNC => Kind::Cfunc,
            "" => Kind::Synthetic,
            _ => Kind::Ruby,
        }
    }
}

/// A function at a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frame {
    /// The function.
    pub function: FunctionId,
    /// The line that ran, from 1; 0 is unknown.
    pub line: u32,
}

/// A frame and the stack that called it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    /// The caller's node, which has a smaller id; nothing at the root.
    pub parent: Option<StackId>,
    /// The frame at the leaf end of this stack.
    pub frame: FrameId,
}

/// A Ruby thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Thread {
    /// The operating system's id of the native thread that it ran on.
    pub native_id: u64,
    /// Its name: as Ruby knows it, else as the operating system does.
    pub name: String,
}

/// One row: a stack, whose it was, and how much it weighs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The stack.
    pub stack: StackId,
    /// Place in [`Profile::threads`].
    pub thread: usize,
    /// What the thread was doing.
    pub state: State,
    /// Labels, sorted by name.
    pub labels: Vec<(String, String)>,
    /// How much.
    pub weights: Weights,
}

/// How the profile was taken. Everything that a report's header says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Meta {
    /// Modes asked for: `cpu`, ...
    pub modes: Vec<String>,
    /// What fired: `thread_timer`, `safepoint`.
    pub engine: Cow<'static, str>,
    /// Interval asked for, ns.
    pub interval_ns: u64,
    /// Of how many objects one was looked at; 0 where none was, or so many bytes were the distance.
    #[serde(skip_serializing_if = "is_nothing")]
    pub every: u64,
    /// Of how many bytes of objects one was looked at; 0 where so many objects were the distance.
    #[serde(skip_serializing_if = "is_nothing")]
    pub every_bytes: u64,
    /// Start, ns since 1970 UTC.
    pub started_at_ns: u64,
    /// Wall clock length, ns.
    pub duration_ns: u64,
    /// `RUBY_DESCRIPTION` of the process.
    pub ruby: Cow<'static, str>,
    /// `$PROGRAM_NAME` of the process.
    pub program: String,
    /// Its process id.
    pub pid: u32,
    /// Version of the profiler that took it.
    pub profiler_version: Cow<'static, str>,
    /// What the user gave as `metadata:`.
    pub user: std::collections::BTreeMap<String, String>,
    /// Things that a reader must know to read the numbers right, one sentence each.
    pub notes: Vec<String>,
}

/// Serde hands over what it would write.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_nothing(number: &u64) -> bool {
    *number == 0
}

/// What became of the ticks, and what the profiler itself cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stats {
    /// Ticks by fate. Process-wide: with several sessions at once they share them.
    pub counts: Counts,
    /// Time spent in signal handlers, ns.
    pub handler_ns: u64,
    /// CPU time of the collector thread, ns.
    pub collector_ns: u64,
    /// CPU time of the process that is of none of the profile's threads, nor of ours, ns; 0 where the session was not to see
    /// all threads.
    pub unseen_cpu_ns: u64,
    /// Objects that were made meanwhile by the VM's own count; 0 where the session was not to see all of them.
    #[serde(skip_serializing_if = "is_nothing")]
    pub vm_objects: u64,
    /// Time that stopping took before names were asked for, ns.
    pub stop_ns: u64,
    /// Time that naming took, ns.
    pub names_ns: u64,
}

/// A marker of the app: a named interval, or an instant.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct Marker {
    /// Begin, ns since 1970 UTC.
    pub started_at_ns: u64,
    /// Length, ns; 0 is an instant.
    pub duration_ns: u64,
    /// What the app calls it.
    pub name: String,
    /// Who told.
    pub thread: Thread,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// What is measured, in the order of [`SampleType::ALL`].
    pub sample_types: Vec<SampleType>,
    /// By [`FunctionId`].
    pub functions: Vec<Function>,
    /// By [`FrameId`].
    pub frames: Vec<Frame>,
    /// By [`StackId`]; parents come first.
    pub stacks: Vec<Node>,
    /// By place.
    pub threads: Vec<Thread>,
    /// The rows.
    pub samples: Vec<Sample>,
    /// What the app told of itself, in the order of time.
    pub markers: Vec<Marker>,
    /// When the rows came to what they weigh, if that was kept.
    pub timeline: Option<Timeline>,
    /// How it was taken.
    pub meta: Meta,
    /// What became of the ticks.
    pub stats: Stats,
}

impl Profile {
    /// The stack's frames, leaf first.
    pub fn frames_of(&self, stack: StackId) -> impl Iterator<Item = Frame> + '_ {
        let node = move |id: StackId| self.stacks.get(id.index()).copied();
        std::iter::successors(node(stack), move |it| it.parent.and_then(node))
            .filter_map(|it| self.frames.get(it.frame.index()).copied())
    }

    /// The function behind an id.
    #[must_use]
    pub fn function(&self, id: FunctionId) -> Option<&Function> {
        self.functions.get(id.index())
    }

    /// The frame behind an id.
    #[must_use]
    pub fn frame(&self, id: FrameId) -> Option<Frame> {
        self.frames.get(id.index()).copied()
    }

    /// Puts labels on every row that has none of that name.
    pub fn add_labels(&mut self, labels: &LabelSet) {
        for sample in &mut self.samples {
            for label in labels.pairs() {
                if let Err(place) = sample.labels.binary_search_by(|(name, _)| name.cmp(&label.0)) {
                    sample.labels.insert(place, label.clone());
                }
            }
        }
    }

    /// Leaves out rows, with their timeline events.
    pub fn retain(&mut self, mut keep: impl FnMut(&Sample) -> bool) {
        let mut kept = 0;
        let mut place = |it: &Sample| {
            let row = keep(it).then(|| RowId::from_index(kept));
            kept += usize::from(row.is_some());
            row
        };
        let places: Vec<Option<RowId>> = self.samples.iter().map(&mut place).collect();
        let mut each = places.iter();
        self.samples.retain(|_| each.next().is_some_and(Option::is_some));
        let place = |row: RowId| places.get(row.index()).copied().flatten();
        self.timeline = self.timeline.take().map(|it| it.with_rows(place));
    }

    /// Sum over all rows.
    #[must_use]
    pub fn total(&self) -> Weights {
        let mut total = Weights::default();
        self.samples.iter().for_each(|sample| total.add(&sample.weights));
        total
    }

    /// What a report shows when nobody says what: the time, or else the last type, as pprof does.
    #[must_use]
    pub fn default_sample_type(&self) -> SampleType {
        let prefer = [SampleType::Wall, SampleType::Cpu, SampleType::InuseSpace, SampleType::AllocSpace];
        let has = |it: &SampleType| self.sample_types.contains(it);
        prefer.into_iter().find(has).or(self.sample_types.last().copied()).unwrap_or(SampleType::Samples)
    }

    /// Wall clock time that threads spent in that state, ns; 0 where it was not measured.
    #[must_use]
    pub fn wall_ns(&self, state: State) -> u64 {
        let rows = self.samples.iter().filter(|it| it.state == state);
        rows.fold(0, |sum, it| sum.saturating_add(it.weights.get(SampleType::Wall)))
    }

    /// Mean time between two ticks of a thread that runs, ns: what the asked interval came to. CPU time where that was
    /// measured, else wall clock time. 0 without ticks.
    #[must_use]
    pub fn effective_interval_ns(&self) -> u64 {
        let cpu = self.sample_types.contains(&SampleType::Cpu);
        // What was measured at its end came with records of its own.
        let made = |it: &Sample| it.weights.get(SampleType::AllocObjects) > 0;
        let ticks_alone = |it: &&Sample| {
            !made(it) && (it.state == State::Running || (cpu && it.weights.get(SampleType::Cpu) > 0))
        };
        let mut total = Weights::default();
        self.samples.iter().filter(ticks_alone).for_each(|it| total.add(&it.weights));
        let time = total.get(if cpu { SampleType::Cpu } else { SampleType::Wall });
        time.checked_div(total.get(SampleType::Samples)).unwrap_or(0)
    }
}
