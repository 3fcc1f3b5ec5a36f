//! A profile being built by a reader: tables in which equal entries are stored once, and whose size is
//! limited.

use super::Budget;
use crate::error::Error;
use crate::ids::{FrameId, FunctionId, Id, StackId, ThreadId};
use crate::profile::table_builder::{SampleKey, TableBuilder};
use crate::profile::{Frame, Function, Meta, Node, Profile, SampleType, Thread, Weights};

/// The maximum number of places in stacks, where callers and callees count separately. A deployment's profile
/// of a day has about 100,000.
const MAX_NODES: usize = 4_000_000;

/// The maximum number of frames in a stack; Ruby itself gives up at about 12,000.
pub(in crate::format) const MAX_FRAMES: u32 = 100_000;

pub(in crate::format) struct Builder {
    pub(in crate::format) budget: Budget,
    tables: TableBuilder,
    depths: Vec<u32>,
    totals: Weights,
}

impl Builder {
    /// Creates the builder for an unpacked file of `bytes`.
    pub(in crate::format) fn new(bytes: usize) -> Self {
        Self {
            budget: Budget::of(bytes),
            tables: TableBuilder::default(),
            depths: Vec::new(),
            totals: Weights::default(),
        }
    }

    /// Adds a function of another program. Its class and method are only known as far as its name tells.
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
        // A name in our style without a file is synthetic; for other names, the file is just unknown.
        let path = if path.is_empty() && !name.starts_with('(') { "(unknown)" } else { path };
        Ok(self.tables.function(Function {
            name: self.budget.copy(name)?,
            class_name: self.budget.copy(class_name)?,
            method_name: self.budget.copy(method_name)?,
            path: self.budget.copy(path)?,
            first_line,
        }))
    }

    pub(in crate::format) fn frame(&mut self, function: FunctionId, line: u32) -> FrameId {
        self.tables.frame(Frame { function, line })
    }

    /// Adds a frame at the leaf end of the stack `caller`, and returns the stack.
    pub(in crate::format) fn call(
        &mut self,
        caller: Option<StackId>,
        frame: FrameId,
    ) -> Result<StackId, Error> {
        self.budget.step(1)?;
        let stack = self.tables.stack(Node { parent: caller, frame });
        if stack.index() == self.depths.len() {
            let depth = caller.and_then(|it| self.depths.get(it.index())).map_or(1, |it| it + 1);
            if depth > MAX_FRAMES {
                return Err(Error::malformed(format!("a stack has more than {MAX_FRAMES} frames")));
            }
            if self.depths.len() >= MAX_NODES {
                return Err(Error::malformed(format!(
                    "its stacks have more than {MAX_NODES} nodes in their tree"
                )));
            }
            self.depths.push(depth);
        }
        Ok(stack)
    }

    /// Returns the leaf of a stack and the stack of its caller, if it has one.
    pub(in crate::format) fn node(&self, stack: StackId) -> Option<Node> {
        self.tables.node(stack)
    }

    pub(in crate::format) fn thread(&mut self, native_id: u64, name: &str) -> Result<ThreadId, Error> {
        Ok(self.tables.thread(Thread { native_id, name: self.budget.copy(name)? }))
    }

    /// Adds weights to a row.
    pub(in crate::format) fn add(&mut self, row: SampleKey, weights: &Weights) -> Result<(), Error> {
        for of in SampleType::ALL {
            let total =
                self.totals.get(of).checked_add(weights.get(of)).filter(|it| i64::try_from(*it).is_ok());
            self.totals
                .set(of, total.ok_or_else(|| Error::malformed("the sum of its weights is too large"))?);
        }
        let (stack, rows) = (row.stack, self.tables.rows());
        self.tables.add_row(row, weights);
        if self.tables.rows() > rows {
            // Queries on the profile walk the frames of all rows.
            self.budget.step(u64::from(self.depths.get(stack.index()).copied().unwrap_or(0)))?;
        }
        Ok(())
    }

    pub(in crate::format) fn finish(self, mut sample_types: Vec<SampleType>, meta: Meta) -> Profile {
        sample_types.sort_unstable();
        sample_types.dedup();
        Profile { sample_types, meta, ..self.tables.into_profile() }
    }
}

/// Returns whether these are the class and method of a name: `Foo::Bar` and `baz`, but not `lib/x` and `rb`.
fn is_method(class: &str, method: &str) -> bool {
    let constant = class.starts_with(|it: char| it.is_uppercase());
    constant && !method.is_empty() && !class.contains([' ', '/']) && !method.contains([' ', '/', '('])
}
