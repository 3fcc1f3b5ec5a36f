//! Protobuf, written only by its wire format. It writes the golden file of the native format, so that this
//! file does not share the field numbers of the code that it checks. The names are those of
//! `spec/fixtures/profile.proto`.

use std::fmt::Write;
use std::io::Read;

#[derive(Clone, Copy)]
enum Kind {
    Number,
    /// Packed numbers.
    Numbers,
    Text,
    Message(&'static [Field]),
}
use Kind::{Message, Number, Numbers, Text};

type Field = (u64, &'static str, Kind);

const VALUE_TYPE: &[Field] = &[(1, "type", Number), (2, "unit", Number)];
const LABEL: &[Field] = &[(1, "key", Number), (2, "str", Number), (3, "num", Number)];
const SAMPLE: &[Field] = &[(1, "location_id", Numbers), (2, "value", Numbers), (3, "label", Message(LABEL))];
const MAPPING: &[Field] = &[
    (1, "id", Number),
    (5, "filename", Number),
    (7, "has_functions", Number),
    (8, "has_filenames", Number),
    (9, "has_line_numbers", Number),
];
const LINE: &[Field] = &[(1, "function_id", Number), (2, "line", Number)];
const LOCATION: &[Field] = &[(1, "id", Number), (2, "mapping_id", Number), (4, "line", Message(LINE))];
const FUNCTION: &[Field] =
    &[(1, "id", Number), (2, "name", Number), (4, "filename", Number), (5, "start_line", Number)];
const THREAD: &[Field] = &[(1, "native_id", Number), (2, "name", Number)];
const COLUMN: &[Field] = &[(1, "value", Numbers)];
const TIMELINE: &[Field] = &[
    (1, "dropped", Number),
    (2, "time_delta", Numbers),
    (3, "sample_delta", Numbers),
    (4, "column", Message(COLUMN)),
];
const PROFILE: &[Field] = &[
    (1, "sample_type", Message(VALUE_TYPE)),
    (2, "sample", Message(SAMPLE)),
    (3, "mapping", Message(MAPPING)),
    (4, "location", Message(LOCATION)),
    (5, "function", Message(FUNCTION)),
    (6, "string_table", Text),
    (9, "time_nanos", Number),
    (10, "duration_nanos", Number),
    (11, "period_type", Message(VALUE_TYPE)),
    (12, "period", Number),
    (13, "comment", Numbers),
    (14, "default_sample_type", Number),
    (5201, "format_version", Number),
    (5202, "meta", Text),
    (5203, "stats", Text),
    (5204, "function_class_name", Numbers),
    (5205, "function_method_name", Numbers),
    (5206, "thread", Message(THREAD)),
    (5207, "markers", Text),
    (5208, "sample_thread", Numbers),
    (5209, "timeline", Message(TIMELINE)),
    (5210, "requests", Text),
];

pub(crate) fn unpack(packed: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
    bytes
}

/// A profile as text, one field a line; strings of the string table with their place.
pub(crate) fn dump(bytes: &[u8]) -> String {
    let mut out = String::new();
    let mut strings = 0;
    for (number, value) in Fields(bytes) {
        if number == 6 {
            write!(out, "{strings}: ").unwrap();
            strings += 1;
        }
        dump_field(&mut out, PROFILE, number, value);
        out.push('\n');
    }
    out
}

fn dump_field(out: &mut String, schema: &[Field], number: u64, value: Value<'_>) {
    let (_, name, kind) = schema.iter().find(|it| it.0 == number).unwrap_or_else(|| panic!("field {number}"));
    write!(out, "{name} ").unwrap();
    match (kind, value) {
        (Number, Value::Varint(it)) => write!(out, "{it}").unwrap(),
        (Text, Value::Bytes(it)) => write!(out, "{:?}", std::str::from_utf8(it).unwrap()).unwrap(),
        (Numbers, Value::Bytes(mut it)) => {
            let mut numbers = Vec::new();
            while !it.is_empty() {
                numbers.push(varint(&mut it));
            }
            write!(out, "{numbers:?}").unwrap();
        }
        (Message(schema), Value::Bytes(it)) => {
            out.push('{');
            for (place, (number, value)) in Fields(it).enumerate() {
                out.push_str(if place > 0 { ", " } else { " " });
                dump_field(out, schema, number, value);
            }
            out.push_str(" }");
        }
        _ => panic!("{name} has another wire type"),
    }
}

enum Value<'bytes> {
    Varint(u64),
    Bytes(&'bytes [u8]),
}

struct Fields<'bytes>(&'bytes [u8]);

impl<'bytes> Iterator for Fields<'bytes> {
    type Item = (u64, Value<'bytes>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let key = varint(&mut self.0);
        let value = match key & 7 {
            0 => Value::Varint(varint(&mut self.0)),
            2 => {
                let length = varint(&mut self.0) as usize;
                let (value, rest) = self.0.split_at(length);
                self.0 = rest;
                Value::Bytes(value)
            }
            other => panic!("wire type {other}"),
        };
        Some((key >> 3, value))
    }
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut number = 0;
    for shift in (0..).step_by(7) {
        let (byte, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    number
}
