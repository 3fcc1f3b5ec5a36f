//! The tables of a thread, or of all threads: stacks, their frames, functions and texts.

use serde::Deserialize;

use super::columns::IndexColumn;
use crate::error::Error;
use crate::format::read::texts::Texts;

/// The tables of a single thread, or those that a file has for all threads.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tables {
    pub(super) stack_table: Option<StackTable>,
    pub(super) frame_table: Option<FrameTable>,
    pub(super) func_table: Option<FuncTable>,
    pub(super) string_array: Option<Texts>,
}

impl Tables {
    /// Returns whether a thread has no tables of its own.
    pub(super) fn are_shared(&self) -> bool {
        self.stack_table.is_none()
            && self.frame_table.is_none()
            && self.func_table.is_none()
            && self.string_array.is_none()
    }
}

#[derive(Deserialize)]
pub(super) struct StackTable {
    frame: IndexColumn,
    prefix: IndexColumn,
    /// The categories. In later versions of the format, a stack has the category of its frame.
    #[serde(default)]
    category: IndexColumn,
}

#[derive(Deserialize)]
pub(super) struct FrameTable {
    func: IndexColumn,
    #[serde(default)]
    line: IndexColumn,
    #[serde(default)]
    category: IndexColumn,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FuncTable {
    name: IndexColumn,
    #[serde(default)]
    file_name: IndexColumn,
    #[serde(default)]
    line_number: IndexColumn,
}

/// A frame: its function, and the line being executed.
pub(super) struct FrameRow<'file> {
    pub(super) name: &'file str,
    pub(super) path: &'file str,
    pub(super) first_line: u32,
    pub(super) line: u32,
}

/// The tables that a thread uses.
#[derive(Clone, Copy)]
pub(super) struct Used<'file> {
    stacks: &'file StackTable,
    frames: &'file FrameTable,
    functions: &'file FuncTable,
    texts: &'file Texts,
}

impl<'file> Used<'file> {
    /// Combines the tables of a thread with the shared ones, which are used for those that the thread lacks.
    pub(super) fn of(own: &'file Tables, shared: &'file Tables) -> Result<Self, Error> {
        let missing = |name: &str| Error::malformed(format!("a thread has no {name}"));
        let stacks = own.stack_table.as_ref().or(shared.stack_table.as_ref());
        let frames = own.frame_table.as_ref().or(shared.frame_table.as_ref());
        let functions = own.func_table.as_ref().or(shared.func_table.as_ref());
        let texts = own.string_array.as_ref().or(shared.string_array.as_ref());
        Ok(Self {
            stacks: stacks.ok_or_else(|| missing("stackTable"))?,
            frames: frames.ok_or_else(|| missing("frameTable"))?,
            functions: functions.ok_or_else(|| missing("funcTable"))?,
            texts: texts.ok_or_else(|| missing("stringArray"))?,
        })
    }

    /// Returns the numbers of stacks and frames.
    pub(super) fn rows(&self) -> (usize, usize) {
        (self.stacks.frame.len(), self.frames.func.len())
    }

    /// Returns the index of the frame at the leaf end of a stack.
    pub(super) fn leaf(&self, stack: usize) -> Result<usize, Error> {
        self.stacks.frame.get(stack).ok_or_else(|| none("stack", stack, self.stacks.frame.len()))
    }

    /// Returns the stack that called a stack.
    pub(super) fn caller(&self, stack: usize) -> Option<usize> {
        self.stacks.prefix.get(stack)
    }

    /// Returns the frame at an index.
    pub(super) fn frame(&self, place: usize) -> Result<FrameRow<'file>, Error> {
        let function = self.frames.func.get(place);
        let function = function.ok_or_else(|| none("frame", place, self.frames.func.len()))?;
        let name = self.functions.name.get(function);
        let name = name.ok_or_else(|| none("function", function, self.functions.name.len()))?;
        let path = self.functions.file_name.get(function).map(|it| self.text(it)).transpose()?;
        let line = |it: Option<usize>| it.and_then(|it| u32::try_from(it).ok()).unwrap_or(0);
        Ok(FrameRow {
            name: self.text(name)?,
            path: path.unwrap_or_default(),
            first_line: line(self.functions.line_number.get(function)),
            line: line(self.frames.line.get(place)),
        })
    }

    /// Returns the category of the leaf of a stack.
    pub(super) fn category(&self, stack: usize) -> Option<usize> {
        let of_frame = || self.frames.category.get(self.stacks.frame.get(stack)?);
        self.stacks.category.get(stack).or_else(of_frame)
    }

    fn text(&self, place: usize) -> Result<&'file str, Error> {
        self.texts.get(place).ok_or_else(|| none("string", place, self.texts.len()))
    }
}

fn none(table: &str, index: usize, rows: usize) -> Error {
    Error::malformed(format!("it refers to {table} {index}, but has only {rows}"))
}
