//! A profile as a reader finds it out: tables in which what is equal is one, none larger than it may be.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::Budget;
use crate::error::Error;
use crate::ids::{FrameId, FunctionId, Id, Interner, LabelSetId, StackId, ThreadId};
use crate::profile::{Frame, Function, Meta, Node, Profile, Sample, SampleType, Thread, Weights};
use crate::record::State;

/// The most places in stacks, callers and callees apart. A deployment's profile of a day has some 100,000.
const MOST_NODES: usize = 4_000_000;

/// The most frames of a stack; Ruby itself gives up at some 12,000.
pub(in crate::format) const MOST_FRAMES: u32 = 100_000;

/// The row that a weight belongs to.
pub(in crate::format) struct Row {
    pub(in crate::format) stack: StackId,
    pub(in crate::format) thread: ThreadId,
    pub(in crate::format) state: State,
    /// Sorted by name.
    pub(in crate::format) labels: Vec<(String, String)>,
}

pub(in crate::format) struct Builder {
    pub(in crate::format) budget: Budget,
    functions: Interner<Function, FunctionId>,
    frames: Interner<Frame, FrameId>,
    stacks: Interner<Node, StackId>,
    depths: Vec<u32>,
    threads: Interner<Thread, ThreadId>,
    labels: Interner<Vec<(String, String)>, LabelSetId>,
    samples: Vec<Sample>,
    places: HashMap<(StackId, ThreadId, State, LabelSetId), usize, FxBuildHasher>,
    totals: Weights,
}

impl Builder {
    /// For an unpacked file of so many bytes.
    pub(in crate::format) fn new(bytes: usize) -> Self {
        Self {
            budget: Budget::of(bytes),
            functions: Interner::default(),
            frames: Interner::default(),
            stacks: Interner::default(),
            depths: Vec::new(),
            threads: Interner::default(),
            labels: Interner::default(),
            samples: Vec::new(),
            places: HashMap::default(),
            totals: Weights::default(),
        }
    }

    /// A function of another program's: what its name says is all that is known of class and method.
    pub(in crate::format) fn function(
        &mut self,
        name: &str,
        path: &str,
        first_line: u32,
    ) -> Result<FunctionId, Error> {
        let (class_name, method_name) = match name.rsplit_once(['#', '.']) {
            Some((class, method)) if is_method(class, method) => (class, method),
            _ => ("", ""),
        };
        // What has a name of ours and no file, we made up; of others that is just not known.
        let path = if path.is_empty() && !name.starts_with('(') { "(unknown)" } else { path };
        Ok(self.functions.intern(Function {
            name: self.budget.copy(name)?,
            class_name: self.budget.copy(class_name)?,
            method_name: self.budget.copy(method_name)?,
            path: self.budget.copy(path)?,
            first_line,
        }))
    }

    pub(in crate::format) fn frame(&mut self, function: FunctionId, line: u32) -> FrameId {
        self.frames.intern(Frame { function, line })
    }

    /// The stack of `caller` with a frame at its leaf end.
    pub(in crate::format) fn call(
        &mut self,
        caller: Option<StackId>,
        frame: FrameId,
    ) -> Result<StackId, Error> {
        self.budget.step(1)?;
        let stack: StackId = self.stacks.intern(Node { parent: caller, frame });
        if stack.index() == self.depths.len() {
            let depth = caller.and_then(|it| self.depths.get(it.index())).map_or(1, |it| it + 1);
            if depth > MOST_FRAMES {
                return Err(Error::malformed(format!("a stack has more than {MOST_FRAMES} frames")));
            }
            if self.depths.len() >= MOST_NODES {
                return Err(Error::malformed(format!(
                    "its stacks have more than {MOST_NODES} different places"
                )));
            }
            self.depths.push(depth);
        }
        Ok(stack)
    }

    /// The caller's stack of one, as far as it has one.
    pub(in crate::format) fn node(&self, stack: StackId) -> Option<Node> {
        self.stacks.get(stack).copied()
    }

    pub(in crate::format) fn thread(&mut self, native_id: u64, name: &str) -> Result<ThreadId, Error> {
        Ok(self.threads.intern(Thread { native_id, name: self.budget.copy(name)? }))
    }

    /// Adds to a row.
    pub(in crate::format) fn add(&mut self, row: Row, weights: &Weights) -> Result<(), Error> {
        for of in SampleType::ALL {
            let total =
                self.totals.get(of).checked_add(weights.get(of)).filter(|it| i64::try_from(*it).is_ok());
            self.totals.set(of, total.ok_or_else(|| Error::malformed("its samples weigh too much"))?);
        }
        let key = (row.stack, row.thread, row.state, self.labels.intern(row.labels));
        let place = *self.places.entry(key).or_insert(self.samples.len());
        if let Some(sample) = self.samples.get_mut(place) {
            sample.weights.add(weights);
            return Ok(());
        }
        // Whatever is asked of the profile goes through the frames of all rows.
        self.budget.step(u64::from(self.depths.get(row.stack.index()).copied().unwrap_or(0)))?;
        let labels = self.labels.get(key.3).cloned().unwrap_or_default();
        let (stack, thread, state) = (row.stack, row.thread.index(), row.state);
        self.samples.push(Sample { stack, thread, state, labels, weights: *weights });
        Ok(())
    }

    pub(in crate::format) fn finish(self, mut sample_types: Vec<SampleType>, meta: Meta) -> Profile {
        sample_types.sort_unstable();
        sample_types.dedup();
        Profile {
            sample_types,
            functions: self.functions.into_rows(),
            frames: self.frames.into_rows(),
            stacks: self.stacks.into_rows(),
            threads: self.threads.into_rows(),
            samples: self.samples,
            meta,
            ..Profile::default()
        }
    }
}

/// `Foo::Bar` and `baz`, not `lib/x` and `rb`.
fn is_method(class: &str, method: &str) -> bool {
    let constant = class.starts_with(|it: char| it.is_uppercase());
    constant && !method.is_empty() && !class.contains([' ', '/']) && !method.contains([' ', '/', '('])
}
