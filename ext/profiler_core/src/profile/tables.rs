//! The rows of a profile's tables.

use serde::{Deserialize, Serialize};

use super::weights::Weights;
use crate::ids::{FrameId, FunctionId, StackId};
use crate::record::State;

/// A method, block or the like: its name and where it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

/// The language that a function is written in.
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

    /// A function of which nothing but the name is known.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// The language that it is written in.
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

/// An aggregated sample: a stack, its thread, and its weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The stack.
    pub stack: StackId,
    /// Place in [`Profile::threads`].
    pub thread: usize,
    /// The thread's state.
    pub state: State,
    /// Labels, sorted by name.
    pub labels: Vec<(String, String)>,
    /// The weights.
    pub weights: Weights,
}
