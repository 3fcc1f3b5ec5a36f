//! The sums of a session whose functions have names. They are keyed by content, so code that was evaluated
//! again counts as the same code.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::ids::{FunctionId, Id, Interner, LabelSetId, RowId, SpanIndex, StackId, ThreadId};
use crate::profile::table_builder::{moved, TableBuilder};
use crate::profile::{Frame, LabelSet, Meta, Node, Note, Profile, Sample, Thread, ROOT_SPAN, SPAN, TRACE};
use crate::record::detail::Detail;
use crate::record::frame::Synthetic;
use crate::record::object_class::Class;
use crate::record::Span;
use crate::result::ended_threads::Folded;
use crate::result::part::{distinct, Part};
use crate::session::key::{Key, RowSums};
use crate::session::labels::{MAX_OTHERS, MAX_SETS};
use crate::session::spans::Spans;
use crate::session::spec::Measures;
use crate::tables::block_names::BlockNames;
use crate::tables::name_cache::{synthetic, NameCache};
use crate::tables::stacks::MAX_NODES;
use crate::text::hex;

/// Sums by content. In a key here, the stack and the label set refer to these tables, and a class or a
/// library is the index of its name.
#[derive(Clone, Debug, Default)]
pub(crate) struct NamedSums {
    tables: TableBuilder,
    classes: Interner<String, FunctionId>,
    rows: Interner<Key, RowId>,
    weights: Vec<RowSums>,
    labels: Interner<LabelSet, LabelSetId>,
    spans: Spans,
    /// The number of records whose stacks were cut because there were too many different ones.
    stacks_refused: u64,
    /// The number of label sets that became `(other)` because there were too many.
    labels_refused: u64,
    /// The numbers of functions and nodes of the last part that were known before.
    reused: (usize, usize),
}

impl NamedSums {
    /// Returns the numbers of functions and nodes that the last part shares with the parts before it.
    pub(crate) fn reused(&self) -> (usize, usize) {
        self.reused
    }

    /// Adds a part once `names` knows every handle of it. Returns the new ids of its rows.
    ///
    /// Handles that turn out to be one function are merged. The VM allocates new objects for a method that is
    /// defined again on the same line, and the reader means the same method.
    pub(crate) fn absorb(&mut self, mut part: Part, names: &NameCache, blocks: &BlockNames) -> Vec<RowId> {
        let stacks = self.stacks(&mut part, names);
        let labels: HashMap<LabelSetId, LabelSetId, FxBuildHasher> =
            part.labels.iter().map(|(id, set)| (*id, self.label_set(set))).collect();
        self.stacks_refused += part.stacks_refused;
        self.spans.add_refused(part.spans.refused());
        let rows = part.rows.iter().map(|(stack, key, weight)| {
            let detail = match key.detail {
                Detail::Allocated(class) => Detail::Allocated(self.class(class, names, blocks)),
                Detail::Live(class, age) => Detail::Live(self.class(class, names, blocks), age),
                Detail::Owned(class, owner) => {
                    let owner = self.classes.intern(blocks.owner(owner).to_owned()).0;
                    Detail::Owned(self.class(class, names, blocks), owner)
                }
                other @ (Detail::None | Detail::Gc(_) | Detail::Waiter(_)) => other,
            };
            let labels = labels.get(&key.labels).copied().unwrap_or(key.labels);
            let span = part.spans.get(key.span).map_or(SpanIndex::NONE, |it| self.spans.intern(it));
            self.add(Key { stack: Some(moved(&stacks, *stack)), labels, span, detail, ..*key }, weight)
        });
        rows.collect()
    }

    /// Returns the ids that the part's stacks have here. Once there are too many, all stacks of the part
    /// become one, [`Synthetic::Other`].
    fn stacks(&mut self, part: &mut Part, names: &NameCache) -> Vec<StackId> {
        let (handles, frames, stacks) = std::mem::take(&mut part.stacks).into_tables();
        let function_of = |handle: u64| names.get(handle).unwrap_or_else(|| synthetic(Synthetic::Unsampled));
        if self.tables.nodes() < MAX_NODES {
            let (functions_before, nodes_before) = (self.tables.functions(), self.tables.nodes());
            let named = |handle: &u64| self.tables.function(function_of(*handle));
            let functions: Vec<FunctionId> = handles.iter().map(named).collect();
            let stacks = self.tables.add_stacks(&functions, &frames, &stacks);
            self.reused = (count_known(&functions, functions_before), count_known(&stacks, nodes_before));
            return stacks;
        }
        self.stacks_refused += part.rows.iter().map(|(_, _, weight)| weight.count).sum::<u64>();
        let function = self.tables.function(synthetic(Synthetic::Other));
        let frame = self.tables.frame(Frame { function, line: 0 });
        vec![self.tables.stack(Node { parent: None, frame }); stacks.len()]
    }

    /// Returns the id of a label set. Once there are too many, values become `(other)`, and later the set
    /// becomes empty.
    fn label_set(&mut self, set: &LabelSet) -> LabelSetId {
        let known = self.labels.rows().len();
        if known < MAX_SETS || self.labels.find(set).is_some() {
            return self.labels.intern(set.clone());
        }
        self.labels_refused += 1;
        let others = set.others();
        let has_space = known < MAX_SETS + MAX_OTHERS || self.labels.find(&others).is_some();
        self.labels.intern(if has_space { others } else { LabelSet::EMPTY })
    }

    /// Replaces the ids of ended threads in the rows by those of their groups.
    pub(crate) fn fold(&mut self, ids: &Folded) {
        let rows = std::mem::take(&mut self.rows).into_rows();
        let weights = std::mem::take(&mut self.weights);
        for (key, weight) in rows.iter().zip(&weights) {
            self.add(key.folded(ids), weight);
        }
    }

    /// Iterates over the threads in the rows.
    pub(crate) fn threads(&self) -> impl Iterator<Item = ThreadId> + '_ {
        self.rows.rows().iter().flat_map(Key::threads)
    }

    /// Converts the sums to a profile, with notes on what was cut. `info` has the threads. The rest of the
    /// metadata and the stats are left to the caller.
    pub(crate) fn into_profile(
        self,
        measures: Measures,
        info: &HashMap<ThreadId, Thread, FxBuildHasher>,
    ) -> Profile {
        let thread_ids = distinct(self.threads());
        let threads: Vec<Thread> =
            thread_ids.iter().map(|id| info.get(id).cloned().unwrap_or_else(|| unknown(*id))).collect();
        let sample = |(key, weight): (&Key, &RowSums)| Sample {
            stack: key.stack.unwrap_or_else(|| Id::from_index(0)),
            thread: thread_ids.binary_search(&key.thread).unwrap_or(0),
            state: key.state,
            labels: with_own(
                self.labels.get(key.labels),
                self.detail_labels(key.detail, info).into_iter().chain(self.span_labels(key.span)),
            ),
            weights: measures.weights(key, weight),
        };
        let samples = self.rows.rows().iter().zip(&self.weights).map(sample).collect();
        let notes = [
            (self.labels_refused > 0).then_some(Note::LabelsRefused { times: self.labels_refused }),
            (self.spans.refused() > 0).then_some(Note::SpansRefused { times: self.spans.refused() }),
            (self.stacks_refused > 0).then_some(Note::StacksRefused { times: self.stacks_refused }),
        ];
        Profile {
            sample_types: measures.sample_types(),
            samples,
            threads,
            meta: Meta { notes: notes.into_iter().flatten().collect(), ..Meta::default() },
            ..self.tables.into_profile()
        }
    }

    fn add(&mut self, key: Key, weight: &RowSums) -> RowId {
        let row = self.rows.intern(key);
        match self.weights.get_mut(row.index()) {
            Some(sum) => sum.add(weight),
            None => self.weights.push(*weight),
        }
        row
    }

    fn class(&mut self, class: Class, names: &NameCache, blocks: &BlockNames) -> Class {
        if let Some(number) = class.library_number() {
            return Class::library(self.classes.intern(blocks.libraries.name(number).to_owned()).0);
        }
        let Some(handle) = class.handle() else { return class };
        let name = names.get(handle).map_or_else(|| INTERNAL.into(), |it| it.name);
        let place = self.classes.intern(name).index() as u64;
        Class::of_handle((place + 1) << 1)
    }

    fn class_name(&self, class: Class) -> String {
        let place = class.handle().map(|it| FunctionId::from_index((it >> 1) as usize - 1));
        let place = place.or_else(|| class.library_number().map(FunctionId));
        place.and_then(|it| self.classes.get(it)).cloned().unwrap_or_else(|| INTERNAL.into())
    }

    fn span_labels(&self, span: SpanIndex) -> impl Iterator<Item = (&'static str, String)> {
        let labels = self.spans.get(span).map(|Span { trace_id, span_id, root_id }| {
            let root = (root_id != span_id).then(|| (ROOT_SPAN, hex(&root_id)));
            [Some((TRACE, hex(&trace_id))), Some((SPAN, hex(&span_id))), root]
        });
        labels.into_iter().flatten().flatten()
    }

    fn detail_labels(
        &self,
        detail: Detail,
        info: &HashMap<ThreadId, Thread, FxBuildHasher>,
    ) -> Vec<(&'static str, String)> {
        match detail {
            Detail::None => Vec::new(),
            Detail::Allocated(class) | Detail::Live(class, _) if class.library_number().is_some() => {
                vec![("library", self.class_name(class))]
            }
            Detail::Owned(class, owner) => {
                let owner = self.classes.get(FunctionId(owner)).cloned().unwrap_or_default();
                vec![("library", self.class_name(class)), ("owner", owner)]
            }
            Detail::Allocated(class) => vec![("class", self.class_name(class))],
            Detail::Live(class, age) => {
                let age = match age.range() {
                    (least, most) if least == most => least.to_string(),
                    (least, most) => format!("{least} to {most}"),
                };
                vec![("class", self.class_name(class)), ("age", age)]
            }
            Detail::Gc(cause) => {
                let names = cause.names();
                names.map_or_else(Vec::new, |(kind, reason)| {
                    vec![("gc", kind.to_owned()), ("gc_reason", reason.to_owned())]
                })
            }
            Detail::Waiter(thread) => {
                let thread = info.get(&thread).cloned().unwrap_or_default();
                let unnamed = || format!("thread {}", thread.native_id);
                let name = Some(thread.name.clone()).filter(|name| !name.is_empty());
                vec![("waiter", name.unwrap_or_else(unnamed))]
            }
        }
    }
}

/// Returns the number of distinct ids among the first `known` ones of their table.
fn count_known<I: Id + Ord>(ids: &[I], known: usize) -> usize {
    distinct(ids.iter().copied().filter(|id| id.index() < known)).len()
}

/// Returns what is known of a thread that is in no list.
fn unknown(thread: ThreadId) -> Thread {
    let name = if thread == ThreadId::OTHERS { "(other threads)" } else { "" };
    Thread { name: name.into(), ..Thread::default() }
}

/// The class of objects that are invisible to Ruby code.
const INTERNAL: &str = "(internal to Ruby)";

/// Combines the app's labels with ours. If both have a name, the app's label wins.
fn with_own(
    labels: Option<&LabelSet>,
    own: impl Iterator<Item = (&'static str, String)>,
) -> Vec<(String, String)> {
    let mut all = labels.map(|it| it.pairs().to_vec()).unwrap_or_default();
    for (name, value) in own {
        if let Err(place) = all.binary_search_by(|(other, _)| other.as_str().cmp(name)) {
            all.insert(place, (name.to_owned(), value));
        }
    }
    all
}
