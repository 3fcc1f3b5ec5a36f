//! The growing tables of a message: each frame, function and text once. Ids are 1..n in the order of first
//! use.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::messages::{self, Label, Line, Location, Mapping, Text, ValueType};
use crate::ids::{FrameId, FunctionId, Id};
use crate::profile::{Profile, SampleType};
use crate::record::frame::Synthetic;

/// The id of the one mapping.
const MAPPING: u64 = 1;

/// The header of a message, as every reader of pprof knows it.
pub(crate) struct MessageHead<'text> {
    /// The types of the values, in their order.
    pub(crate) types: &'text [SampleType],
    /// The type that is shown first.
    pub(crate) default: SampleType,
    /// The name, unit and number of the period between two samples.
    pub(crate) period: Option<(&'static str, &'static str, u64)>,
    /// The start, ns since 1970 UTC.
    pub(crate) started_at_ns: u64,
    /// The length, ns.
    pub(crate) duration_ns: u64,
    /// Sentences for people.
    pub(crate) comments: &'text [String],
    /// The name of the one mapping.
    pub(crate) binary: &'text str,
}

/// A message with growing tables. Its strings are kept separately until the end.
pub(crate) struct MessageTables<'profile> {
    profile: &'profile Profile,
    message: messages::Profile,
    strings: Strings,
    /// The ids of functions and frames in the message, by index; 0 until they are used.
    function_ids: Vec<u64>,
    location_ids: Vec<u64>,
    synthetic_ids: Vec<(Synthetic, u64)>,
    /// Whether functions have class and method names, which only our own reader knows.
    detailed: bool,
}

impl<'profile> MessageTables<'profile> {
    pub(crate) fn new(profile: &'profile Profile, detailed: bool) -> Self {
        Self {
            profile,
            message: messages::Profile::default(),
            strings: Strings::new(),
            function_ids: vec![0; profile.functions.len()],
            location_ids: vec![0; profile.frames.len()],
            synthetic_ids: Vec::new(),
            detailed,
        }
    }

    /// Returns the message without the tables and their strings, for the caller to fill in.
    pub(crate) fn message(&mut self) -> &mut messages::Profile {
        &mut self.message
    }

    /// Returns the whole message.
    pub(crate) fn into_message(self) -> messages::Profile {
        messages::Profile { string_table: self.strings.table, ..self.message }
    }

    pub(crate) fn head(&mut self, head: &MessageHead<'_>) {
        self.message.sample_type = head.types.iter().map(|it| self.value_type(it.name_and_unit())).collect();
        self.message.default_sample_type = self.text(head.default.name_and_unit().0);
        if let Some((name, unit, number)) = head.period {
            self.message.period_type = Some(self.value_type((name, unit)));
            self.message.period = signed(number);
        }
        self.message.time_nanos = signed(head.started_at_ns);
        self.message.duration_nanos = signed(head.duration_ns);
        self.message.comment = head.comments.iter().map(|it| self.text(it)).collect();
        self.message.mapping.push(Mapping {
            id: MAPPING,
            filename: self.strings.add(head.binary),
            has_functions: true,
            has_filenames: true,
            has_line_numbers: true,
        });
    }

    pub(crate) fn text(&mut self, text: &str) -> Text {
        self.strings.add(text)
    }

    pub(crate) fn value_type(&mut self, (name, unit): (&str, &str)) -> ValueType {
        ValueType { r#type: self.text(name), unit: self.text(unit) }
    }

    pub(crate) fn label(&mut self, name: &str, text: &str) -> Label {
        Label { key: self.text(name), str: self.text(text), num: 0 }
    }

    /// Returns the id of a frame's location; 0 for a frame that the profile lacks.
    pub(crate) fn location(&mut self, id: FrameId) -> u64 {
        let Some(frame) = self.profile.frame(id) else { return 0 };
        let known = self.location_ids.get(id.index()).copied().unwrap_or(0);
        if known > 0 {
            return known;
        }
        let function = self.function(frame.function);
        let new = self.add_location(function, frame.line);
        if let Some(slot) = self.location_ids.get_mut(id.index()) {
            *slot = new;
        }
        new
    }

    /// Returns the id of the location of a synthetic frame, which may be missing in the profile.
    pub(crate) fn synthetic(&mut self, of: Synthetic) -> u64 {
        if let Some((_, known)) = self.synthetic_ids.iter().find(|it| it.0 == of) {
            return *known;
        }
        let name = self.text(of.name());
        let function = self.add_function(name, 0, 0);
        let new = self.add_location(function, 0);
        self.synthetic_ids.push((of, new));
        new
    }

    fn add_location(&mut self, function_id: u64, line: u32) -> u64 {
        let new = self.message.location.len() as u64 + 1;
        let line = vec![Line { function_id, line: line.into() }];
        self.message.location.push(Location { id: new, mapping_id: MAPPING, address: 0, line });
        new
    }

    fn function(&mut self, id: FunctionId) -> u64 {
        let Some(function) = self.profile.function(id) else { return 0 };
        let known = self.function_ids.get(id.index()).copied().unwrap_or(0);
        if known > 0 {
            return known;
        }
        let (name, filename) = (self.text(&function.name), self.text(&function.path));
        let new = self.add_function(name, filename, function.first_line);
        if self.detailed {
            let (class_name, method_name) =
                (self.text(&function.class_name), self.text(&function.method_name));
            self.message.function_class_name.push(class_name);
            self.message.function_method_name.push(method_name);
        }
        if let Some(slot) = self.function_ids.get_mut(id.index()) {
            *slot = new;
        }
        new
    }

    fn add_function(&mut self, name: Text, filename: Text, first_line: u32) -> u64 {
        let new = self.message.function.len() as u64 + 1;
        let start_line = first_line.into();
        self.message.function.push(messages::Function { id: new, name, filename, start_line });
        new
    }
}

/// The string table: each text once, with the empty one first.
struct Strings {
    table: Vec<String>,
    places: HashMap<String, Text, FxBuildHasher>,
}

impl Strings {
    fn new() -> Self {
        let mut strings = Self { table: Vec::new(), places: HashMap::default() };
        strings.add("");
        strings
    }

    fn add(&mut self, text: &str) -> Text {
        if let Some(place) = self.places.get(text) {
            return *place;
        }
        let place = signed(self.table.len() as u64);
        self.table.push(text.into());
        self.places.insert(text.into(), place);
        place
    }
}

/// Converts a number to the signed type of pprof. A number that does not fit becomes the maximum.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
