//! The tables of one thread: its stacks, frames, functions and texts, as far as the thread uses them.

use std::io::Write;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::{array, json, meta, number};
use crate::error::Error;
use crate::format::display::clean_name;
use crate::ids::{FrameId, FunctionId, Id, StackId};
use crate::profile::Profile;

/// The indexes of the names of our own markers.
pub(super) const GC: usize = 0;
pub(super) const GVL: usize = 1;

type Map<Key> = HashMap<Key, usize, FxBuildHasher>;

/// A stack, and the category of its leaf if that is not the frame's own.
type StackKey = (StackId, Option<usize>);

pub(super) struct SharedTables<'profile> {
    profile: &'profile Profile,
    stack_places: Map<StackKey>,
    /// The index of the frame, the index of the caller, and the category.
    stacks: Vec<(usize, Option<usize>, usize)>,
    /// The indexes of frames. One line of code can have several frames, because the front end knows categories
    /// of frames only.
    frame_places: Map<(FrameId, Option<usize>)>,
    frames: Vec<(usize, u32, usize)>,
    function_places: Map<FunctionId>,
    functions: Vec<(FunctionId, usize, Option<usize>)>,
    string_places: Map<String>,
    strings: Vec<String>,
}

impl<'profile> SharedTables<'profile> {
    pub(super) fn new(profile: &'profile Profile) -> Self {
        let mut tables = Self {
            profile,
            stack_places: Map::default(),
            stacks: Vec::new(),
            frame_places: Map::default(),
            frames: Vec::new(),
            function_places: Map::default(),
            functions: Vec::new(),
            string_places: Map::default(),
            strings: Vec::new(),
        };
        // The names of markers that are not the app's.
        tables.string("GC");
        tables.string("GVL");
        tables
    }

    /// Returns the index of a stack whose leaf has that category, if not its own.
    pub(super) fn stack(&mut self, stack: StackId, category: Option<usize>) -> Option<usize> {
        let mut missing = Vec::new();
        let mut key = Some((stack, category));
        let mut place = None;
        while let Some(inner) = key {
            place = self.stack_places.get(&inner).copied();
            if place.is_some() {
                break;
            }
            missing.push(inner);
            let node = self.profile.stacks.get(inner.0.index())?;
            key = node.parent.map(|parent| (parent, None));
        }
        for (stack, category) in missing.into_iter().rev() {
            let node = self.profile.stacks.get(stack.index())?;
            let frame = self.frame(node.frame, category)?;
            let own = self.frames.get(frame).map_or(0, |it| it.2);
            self.stacks.push((frame, place, own));
            place = Some(self.stacks.len() - 1);
            self.stack_places.insert((stack, category), self.stacks.len() - 1);
        }
        place
    }

    fn frame(&mut self, id: FrameId, category: Option<usize>) -> Option<usize> {
        if let Some(place) = self.frame_places.get(&(id, category)) {
            return Some(*place);
        }
        let frame = self.profile.frame(id)?;
        let function = self.profile.function(frame.function)?;
        let place = match self.function_places.get(&frame.function) {
            Some(place) => *place,
            None => {
                let name = self.string(&clean_name(function));
                let path = (!function.path.is_empty()).then(|| self.string(&function.path));
                self.functions.push((frame.function, name, path));
                self.function_places.insert(frame.function, self.functions.len() - 1);
                self.functions.len() - 1
            }
        };
        self.frames.push((place, frame.line, category.unwrap_or_else(|| meta::category(function))));
        self.frame_places.insert((id, category), self.frames.len() - 1);
        Some(self.frames.len() - 1)
    }

    /// Returns the index of a text.
    pub(super) fn string(&mut self, text: &str) -> usize {
        if let Some(place) = self.string_places.get(text) {
            return *place;
        }
        self.strings.push(text.to_owned());
        self.string_places.insert(text.to_owned(), self.strings.len() - 1);
        self.strings.len() - 1
    }

    /// Returns the text at an index.
    pub(super) fn text(&self, place: usize) -> &str {
        self.strings.get(place).map_or("", String::as_str)
    }

    pub(super) fn write(&self, out: &mut impl Write) -> Result<(), Error> {
        write!(out, r#""stackTable":{{"#)?;
        numbers(out, "frame", self.stacks.iter().map(|it| Some(it.0)))?;
        numbers(out, "category", self.stacks.iter().map(|it| Some(it.2)))?;
        numbers(out, "subcategory", self.stacks.iter().map(|_| Some(0)))?;
        numbers(out, "prefix", self.stacks.iter().map(|it| it.1))?;
        write!(out, r#""length":{}}},"frameTable":{{"#, self.stacks.len())?;

        let frames = &self.frames;
        array(out, "address", frames, |out, _| Ok(write!(out, "-1")?))?;
        write!(out, ",")?;
        numbers(out, "inlineDepth", frames.iter().map(|_| Some(0)))?;
        numbers(out, "category", frames.iter().map(|it| Some(it.2)))?;
        numbers(out, "subcategory", frames.iter().map(|_| Some(0)))?;
        numbers(out, "func", frames.iter().map(|it| Some(it.0)))?;
        for name in ["nativeSymbol", "innerWindowID", "implementation", "column"] {
            numbers(out, name, frames.iter().map(|_| None))?;
        }
        numbers(out, "line", frames.iter().map(|it| (it.1 > 0).then_some(it.1 as usize)))?;
        write!(out, r#""length":{}}},"funcTable":{{"#, frames.len())?;

        let functions = &self.functions;
        let line =
            |id: FunctionId| self.profile.function(id).map(|it| it.first_line as usize).filter(|it| *it > 0);
        numbers(out, "name", functions.iter().map(|it| Some(it.1)))?;
        for name in ["isJS", "relevantForJS"] {
            array(out, name, functions, |out, _| Ok(write!(out, "false")?))?;
            write!(out, ",")?;
        }
        array(out, "resource", functions, |out, _| Ok(write!(out, "-1")?))?;
        write!(out, ",")?;
        numbers(out, "fileName", functions.iter().map(|it| it.2))?;
        numbers(out, "lineNumber", functions.iter().map(|it| line(it.0)))?;
        numbers(out, "columnNumber", functions.iter().map(|_| None))?;
        write!(out, r#""length":{}}},"#, functions.len())?;

        write!(out, r#""resourceTable":{{"length":0,"lib":[],"name":[],"host":[],"type":[]}},"#)?;
        write!(
            out,
            r#""nativeSymbols":{{"libIndex":[],"address":[],"name":[],"functionSize":[],"length":0}},"#
        )?;
        array(out, "stringArray", &self.strings, |out, it| json(out, it))
    }
}

/// Writes a column followed by a comma.
pub(super) fn numbers<W: Write>(
    out: &mut W,
    name: &str,
    column: impl Iterator<Item = Option<usize>>,
) -> Result<(), Error> {
    array(out, name, column, |out, it| match it {
        Some(it) => number(out, it as u64),
        None => Ok(out.write_all(b"null")?),
    })?;
    Ok(write!(out, ",")?)
}
