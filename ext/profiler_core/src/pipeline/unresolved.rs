//! The result of a session before names: its own part of the epoch's tables, with handles for functions.
//!
//! The type is the proof: an exporter takes a [`Profile`], and only resolving makes one of this.

use crate::ids::{FunctionId, Id, Interner, LabelSetId, RowId, StackId, ThreadId};
use crate::pipeline::name_cache::{synthetic, NameCache};
use crate::pipeline::stacks::Stacks;
use crate::profile::table_builder::{moved, TableBuilder};
use crate::profile::{Frame, LabelSet, Node, Profile, Sample, Thread, Weights};
use crate::record::detail::Detail;
use crate::record::frame::{RawFrame, Synthetic};
use crate::record::object_class::Class;
use crate::record::State;
use crate::session::aggregate::Aggregate;
use crate::session::key::{Key, Weight};
use crate::session::labels::LabelSets;
use crate::session::spec::Measures;
use crate::session::Recorder;

/// The result of a session, closed or so far. It has everything but names, and the right to request them.
#[derive(Debug)]
#[must_use = "an epoch stays alive until its sessions are resolved or discarded"]
pub struct Unresolved {
    /// The handles that only the VM can name; they stay marked until [`Hub::resolve`](super::hub::Hub::resolve).
    pub unknown: Vec<u64>,
    measures: Measures,
    /// The distinct handles, synthetic ones among them; a frame's [`FunctionId`] is an index here.
    handles: Vec<u64>,
    frames: Vec<Frame>,
    stacks: Vec<Node>,
    rows: Vec<(StackId, Key, Weight)>,
    /// The sets of labels of the rows, by id.
    labels: Vec<(LabelSetId, LabelSet)>,
    threads: Vec<Thread>,
    /// The ids of these threads, sorted.
    thread_ids: Vec<ThreadId>,
    recorder: Option<Box<Recorder>>,
}

/// A resolved result whose timeline, which can be long, is not in order yet.
#[derive(Debug)]
#[must_use = "there is a timeline to be finished"]
pub(crate) struct Resolved {
    profile: Profile,
    recorder: Option<Box<Recorder>>,
    /// The rows of the recorder, in order, and their new ids.
    rows: Vec<(Key, RowId)>,
}

impl Resolved {
    /// The profile, with its timeline.
    pub(crate) fn finish(mut self) -> Profile {
        let place = |key: &Key| {
            let found = self.rows.binary_search_by_key(key, |(key, _)| *key).ok()?;
            self.rows.get(found).map(|(_, row)| *row)
        };
        self.profile.timeline = self.recorder.map(|it| it.finish(place));
        self.profile
    }
}

impl Unresolved {
    /// Copies what `aggregate` needs out of the tables of the epoch.
    pub(crate) fn extract(
        measures: Measures,
        mut aggregate: Aggregate,
        epoch: &Stacks,
        info: impl Fn(ThreadId) -> Option<Thread>,
        sets: &LabelSets,
        names: &NameCache,
    ) -> Self {
        let mut own = Stacks::default();
        // Rows come in the order of their stacks.
        let mut last: Option<(StackId, StackId)> = None;
        let mut rows = Vec::new();
        let recorder = aggregate.recorder.take();
        for (key, weight) in aggregate.into_weights() {
            let stack = match key.stack {
                Some(stack) => {
                    let known = last.filter(|(of, _)| *of == stack).map(|(_, copied)| copied);
                    let copied = known.unwrap_or_else(|| copy(&mut own, epoch, stack));
                    last = Some((stack, copied));
                    copied
                }
                None => {
                    // Of a GC too short to be captured this much is known all the same.
                    let gc = key.state == State::Gc;
                    let frame = if gc { Synthetic::Gc } else { Synthetic::Unsampled }.frame();
                    own.intern_frames(std::iter::once(frame)).unwrap_or(StackId(0))
                }
            };
            rows.push((stack, key, weight));
        }

        let labels = distinct(rows.iter().map(|(_, key, _)| key.labels));
        let labels = labels.into_iter().map(|id| (id, sets.with_fiber(id))).collect();
        let waiter = |key: &Key| match key.detail {
            Detail::Waiter(thread) => Some(thread),
            Detail::None | Detail::Gc(_) | Detail::Allocated(_) | Detail::Live(..) => None,
        };
        let threads = rows.iter().flat_map(|(_, key, _)| std::iter::once(key.thread).chain(waiter(key)));
        let thread_ids = distinct(threads);
        let threads = thread_ids.iter().map(|id| info(*id).unwrap_or_default()).collect();
        let classes = distinct(rows.iter().filter_map(|(_, key, _)| class_of(key)?.handle()));
        let (handles, frames, stacks) = own.into_tables();
        let mut unknown = names.unknown(&handles);
        unknown.extend(names.unknown(&classes));
        Self { unknown, measures, handles, frames, stacks, rows, labels, threads, thread_ids, recorder }
    }

    /// The index of a thread that a row names.
    fn index_of(&self, thread: ThreadId) -> usize {
        self.thread_ids.binary_search(&thread).unwrap_or(0)
    }

    fn labels(&self, id: LabelSetId) -> &[(String, String)] {
        let place = self.labels.binary_search_by_key(&id, |(id, _)| *id).ok();
        place.and_then(|place| self.labels.get(place)).map(|(_, set)| set.pairs()).unwrap_or_default()
    }

    fn detail_labels(&self, detail: Detail, names: &NameCache) -> Vec<(&'static str, String)> {
        match detail {
            Detail::None => Vec::new(),
            Detail::Allocated(class) => vec![("class", class_name(class, names))],
            Detail::Live(class, age) => {
                let age = match age.range() {
                    (least, most) if least == most => least.to_string(),
                    (least, most) => format!("{least} to {most}"),
                };
                vec![("class", class_name(class, names)), ("age", age)]
            }
            Detail::Gc(cause) => {
                let names = cause.names();
                names.map_or_else(Vec::new, |(kind, reason)| {
                    vec![("gc", kind.to_owned()), ("gc_reason", reason.to_owned())]
                })
            }
            Detail::Waiter(thread) => {
                let thread = self.threads.get(self.index_of(thread)).cloned().unwrap_or_default();
                let unnamed = || format!("thread {}", thread.native_id);
                let name = Some(thread.name.clone()).filter(|name| !name.is_empty());
                vec![("waiter", name.unwrap_or_else(unnamed))]
            }
        }
    }

    /// Resolves the handles, once `names` knows every one. Meta and stats are left to the caller.
    ///
    /// Handles that turn out to be one function become one. The VM allocates new objects for a method
    /// that is defined again on the same line, and the reader means the same method.
    pub(crate) fn resolve(self, names: &NameCache) -> Resolved {
        let mut tables = TableBuilder::default();
        let unknown = || synthetic(Synthetic::Unsampled);
        let named = |handle: &u64| tables.function(names.get(*handle).unwrap_or_else(unknown));
        let functions: Vec<FunctionId> = self.handles.iter().map(named).collect();
        let stack_ids = tables.add_stacks(&functions, &self.frames, &self.stacks);

        let rows = self.rows.iter().map(|(stack, key, weight)| {
            let thread = self.index_of(key.thread);
            let row = (moved(&stack_ids, *stack), thread, key.labels, key.state, key.detail);
            (row, self.measures.weights(key, weight))
        });
        let (mut samples, places) = summed(rows);
        for (sample, labels, detail) in &mut samples {
            sample.labels = with_detail(self.labels(*labels), self.detail_labels(*detail, names));
        }
        let profile = Profile {
            sample_types: self.measures.sample_types(),
            samples: samples.into_iter().map(|(sample, ..)| sample).collect(),
            threads: self.threads,
            ..tables.into_profile()
        };
        // They came in the order of their keys.
        let rows = match self.recorder {
            Some(_) => self.rows.iter().map(|(_, key, _)| *key).zip(places).collect(),
            None => Vec::new(),
        };
        Resolved { profile, recorder: self.recorder, rows }
    }
}

/// The distinct ids, in order.
fn distinct<I: Ord>(ids: impl Iterator<Item = I>) -> Vec<I> {
    let mut ids: Vec<I> = ids.collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

fn class_of(key: &Key) -> Option<Class> {
    match key.detail {
        Detail::Allocated(class) | Detail::Live(class, _) => Some(class),
        Detail::None | Detail::Gc(_) | Detail::Waiter(_) => None,
    }
}

fn class_name(class: Class, names: &NameCache) -> String {
    let named = class.handle().and_then(|handle| names.get(handle)).map(|it| it.name);
    named.unwrap_or_else(|| format!("(internal) {}", class.internal_type()))
}

/// The app's labels and ours; where both have a name, the app's.
fn with_detail(labels: &[(String, String)], detail: Vec<(&'static str, String)>) -> Vec<(String, String)> {
    let mut all = labels.to_vec();
    for (name, value) in detail {
        if let Err(place) = all.binary_search_by(|(other, _)| other.as_str().cmp(name)) {
            all.insert(place, (name.to_owned(), value));
        }
    }
    all
}

/// The identity of a row.
type RowKey = (StackId, usize, LabelSetId, State, Detail);

/// Sums rows of the same identity, in the order in which they first come, and returns the new id of each row. Each sum has
/// the id of its labels and its detail.
fn summed(
    rows: impl ExactSizeIterator<Item = (RowKey, Weights)>,
) -> (Vec<(Sample, LabelSetId, Detail)>, Vec<RowId>) {
    let mut samples: Vec<(Sample, LabelSetId, Detail)> = Vec::with_capacity(rows.len());
    let mut ids: Interner<RowKey, RowId> = Interner::default();
    let mut went = Vec::with_capacity(rows.len());
    for (key, weights) in rows {
        let (stack, thread, labels, state, detail) = key;
        let id = ids.intern(key);
        went.push(id);
        match samples.get_mut(id.index()) {
            Some((sample, ..)) => sample.weights.add(&weights),
            None => {
                samples.push((Sample { stack, thread, state, labels: Vec::new(), weights }, labels, detail));
            }
        }
    }
    (samples, went)
}

/// Copies one stack of the epoch into `own`.
fn copy(own: &mut Stacks, epoch: &Stacks, stack: StackId) -> StackId {
    let mut frames: Vec<RawFrame> = epoch.frames_of(stack).collect();
    frames.reverse();
    own.intern_frames(frames.into_iter()).unwrap_or(StackId(0))
}
