//! The growing dictionary of a request: the data shared by all of its profiles.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::messages::{self, AnyValue, Attribute, Function, Line, Link, Location, Mapping, ValueType};
use crate::format::pprof::messages as pprof;
use crate::format::pprof::tables::MessageTables;
use crate::ids::{Interner, LabelSetId, StackId};
use crate::profile::Profile;
use crate::upload::dimensions::LabelPairs;
use crate::upload::shaped::ShapedStack;
use crate::upload::span::SentSpan;

/// The dictionary while it grows. Functions, locations and texts are numbered as in pprof: from 1, with the
/// empty text in front.
pub(super) struct Dictionary<'a> {
    tables: MessageTables<'a>,
    stacks: Interner<Vec<i32>, StackId>,
    /// The index of the key, and the value.
    attributes: Interner<(i32, &'a str), LabelSetId>,
    links: Vec<Link>,
    /// The index of the link of each span.
    places: HashMap<SentSpan, i32, FxBuildHasher>,
}

impl<'a> Dictionary<'a> {
    pub(super) fn new(profile: &'a Profile) -> Self {
        let (mut stacks, mut attributes) = (Interner::default(), Interner::default());
        stacks.intern(Vec::new());
        attributes.intern((0, ""));
        let (links, places) = (vec![Link::default()], HashMap::default());
        Self { tables: MessageTables::new(profile, false), stacks, attributes, links, places }
    }

    pub(super) fn value_type(&mut self, names: (&str, &str)) -> ValueType {
        let value_type = self.tables.value_type(names);
        ValueType { type_strindex: index(value_type.r#type), unit_strindex: index(value_type.unit) }
    }

    pub(super) fn stack(&mut self, stack: &ShapedStack) -> i32 {
        let mut locations: Vec<i32> =
            stack.frames.iter().map(|it| index(self.tables.location(*it))).collect();
        locations.extend(stack.root.map(|it| index(self.tables.synthetic(it))));
        index(self.stacks.intern(locations).0)
    }

    pub(super) fn attributes(&mut self, labels: &LabelPairs<'a>) -> Vec<i32> {
        labels.iter().map(|(name, value)| self.attribute(name, value)).collect()
    }

    fn attribute(&mut self, name: &str, value: &'a str) -> i32 {
        let key = index(self.tables.text(name));
        index(self.attributes.intern((key, value)).0)
    }

    /// Returns the index of the link to a span; 0 is the empty link.
    pub(super) fn link(&mut self, span: Option<&SentSpan>) -> i32 {
        let Some(span) = span else { return 0 };
        *self.places.entry(*span).or_insert_with(|| {
            let SentSpan { trace_id, span_id } = span;
            self.links.push(Link { trace_id: trace_id.to_vec(), span_id: span_id.to_vec() });
            index(self.links.len() - 1)
        })
    }

    pub(super) fn into_message(mut self) -> messages::Dictionary {
        let ruby = self.attribute("profile.frame.type", "ruby");
        let attributes = self.attributes.into_rows();
        let message = self.tables.into_message();
        messages::Dictionary {
            mapping_table: vec![Mapping::default()],
            location_table: after_empty(message.location.iter().map(|it| location(it, ruby))),
            function_table: after_empty(message.function.iter().map(function)),
            link_table: self.links,
            string_table: message.string_table,
            attribute_table: after_empty(attributes.iter().skip(1).map(attribute)),
            stack_table: self.stacks.into_rows().into_iter().map(stack).collect(),
        }
    }
}

fn after_empty<T: Default>(rows: impl Iterator<Item = T>) -> Vec<T> {
    std::iter::once(T::default()).chain(rows).collect()
}

fn location(location: &pprof::Location, frame_type: i32) -> Location {
    let line = |it: &pprof::Line| Line { function_index: index(it.function_id), line: it.line };
    Location { lines: location.line.iter().map(line).collect(), attribute_indices: vec![frame_type] }
}

fn function(function: &pprof::Function) -> Function {
    Function {
        name_strindex: index(function.name),
        filename_strindex: index(function.filename),
        start_line: function.start_line,
    }
}

fn attribute((key, value): &(i32, &str)) -> Attribute {
    Attribute { key_strindex: *key, value: AnyValue::text(value) }
}

fn stack(location_indices: Vec<i32>) -> messages::Stack {
    messages::Stack { location_indices }
}

/// Converts an index to the type that the messages have.
fn index(place: impl TryInto<i32>) -> i32 {
    place.try_into().unwrap_or(i32::MAX)
}
