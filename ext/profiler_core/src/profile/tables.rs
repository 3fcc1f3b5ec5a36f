//! The rows of a profile's tables.

use serde::{Deserialize, Serialize};

use super::label_set::value_of;
use super::weights::Weights;
use crate::ids::{FrameId, FunctionId, StackId};
use crate::record::State;

/// A method, a block or the like: its name and where it is defined.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Function {
    /// The full name: `Foo#bar`, `Foo.bar`, `block in <main>`, `(garbage collection)`.
    pub name: String,
    /// The class, such as `Foo` or `#<singleton of Foo>`; empty if there is none.
    pub class_name: String,
    /// The method, such as `bar`; empty if there is none.
    pub method_name: String,
    /// The absolute path of the file; `<cfunc>` for C, and empty for a synthetic function.
    pub path: String,
    /// The first line of the definition, from 1; 0 if it is unknown.
    pub first_line: u32,
}

/// The language that a function is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Ruby.
    Ruby,
    /// C code behind a Ruby method.
    Cfunc,
    /// No language: a synthetic function, such as `(garbage collection)`.
    Synthetic,
}

impl Language {
    /// Returns the word for the kind.
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
    /// The path of a function written in C.
    pub const CFUNC: &'static str = "<cfunc>";

    /// Returns a function of which only the name is known.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Returns the language in which the function is written.
    #[must_use]
    pub fn kind(&self) -> Language {
        match self.path.as_str() {
            Self::CFUNC => Language::Cfunc,
            "" => Language::Synthetic,
            _ => Language::Ruby,
        }
    }

    /// Returns whether the function is Ruby code outside of Ruby's core, some of whose methods are written in
    /// Ruby.
    pub(crate) fn is_ruby_outside_core(&self) -> bool {
        self.kind() == Language::Ruby && !self.path.starts_with("<internal:")
    }
}

/// A function at a certain line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frame {
    /// The function.
    pub function: FunctionId,
    /// The line that was executed, from 1; 0 if it is unknown.
    pub line: u32,
}

/// A frame and the stack that called it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    /// The caller's node, which has a smaller id; `None` at the root.
    pub parent: Option<StackId>,
    /// The frame at the leaf end of this stack.
    pub frame: FrameId,
}

/// A Ruby thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Thread {
    /// The operating system's id of the native thread on which the Ruby thread ran.
    pub native_id: u64,
    /// The name that Ruby knows, or else the operating system.
    pub name: String,
}

/// An aggregated sample: a stack, its thread, and its weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The stack.
    pub stack: StackId,
    /// The index of the thread in [`Profile::threads`].
    pub thread: usize,
    /// The thread's state.
    pub state: State,
    /// The labels, sorted by name.
    pub labels: Vec<(String, String)>,
    /// The weights.
    pub weights: Weights,
}

impl Sample {
    /// Returns the value of a label.
    #[must_use]
    pub fn label(&self, name: &str) -> Option<&str> {
        value_of(&self.labels, name)
    }
}
