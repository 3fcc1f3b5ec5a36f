//! The messages of the file, by field number: pprof's own, and ours from 5201 on.

use prost::Message;

/// An index into the string table.
pub(super) type Text = i64;

/// The fields that tell which program wrote the file. All else is skipped.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Head {
    #[prost(message, repeated, tag = "1")]
    pub(super) sample_type: Vec<ValueType>,
    #[prost(uint64, tag = "5201")]
    pub(super) format_version: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Profile {
    #[prost(message, repeated, tag = "1")]
    pub(super) sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    pub(super) sample: Vec<Sample>,
    #[prost(message, repeated, tag = "3")]
    pub(super) mapping: Vec<Mapping>,
    #[prost(message, repeated, tag = "4")]
    pub(super) location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    pub(super) function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    pub(super) string_table: Vec<String>,
    #[prost(int64, tag = "9")]
    pub(super) time_nanos: i64,
    #[prost(int64, tag = "10")]
    pub(super) duration_nanos: i64,
    #[prost(message, optional, tag = "11")]
    pub(super) period_type: Option<ValueType>,
    #[prost(int64, tag = "12")]
    pub(super) period: i64,
    #[prost(int64, repeated, tag = "13")]
    pub(super) comment: Vec<Text>,
    #[prost(int64, tag = "14")]
    pub(super) default_sample_type: Text,

    #[prost(uint64, tag = "5201")]
    pub(super) format_version: u64,
    /// [`crate::profile::Meta`] as JSON.
    #[prost(string, tag = "5202")]
    pub(super) meta: String,
    /// [`crate::profile::Stats`] as JSON.
    #[prost(string, tag = "5203")]
    pub(super) stats: String,
    /// An entry for each function.
    #[prost(int64, repeated, tag = "5204")]
    pub(super) function_class_name: Vec<Text>,
    /// An entry for each function.
    #[prost(int64, repeated, tag = "5205")]
    pub(super) function_method_name: Vec<Text>,
    #[prost(message, repeated, tag = "5206")]
    pub(super) thread: Vec<Thread>,
    /// [`crate::profile::Marker`]s as JSON; empty when there is none.
    #[prost(string, tag = "5207")]
    pub(super) markers: String,
    /// An entry for each sample: its index in `thread`. The last field, as its length tells of a file that was cut.
    #[prost(uint64, repeated, tag = "5208")]
    pub(super) sample_thread: Vec<u64>,
    /// Only read here. It is written before all else, as [`Front`].
    #[prost(message, optional, tag = "5209")]
    pub(super) timeline: Option<Timeline>,
    /// [`crate::profile::Requests`] as JSON; empty when there is none. It is in [`Front`] as well.
    #[prost(string, tag = "5210")]
    pub(super) requests: String,
}

/// The front of the file: the version once more, the timeline, and the requests. With the version here, a file that was cut
/// is not taken for another program's. With the others here, the rest still ends with `sample_thread`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Front {
    #[prost(uint64, tag = "5201")]
    pub(super) format_version: u64,
    #[prost(message, optional, tag = "5209")]
    pub(super) timeline: Option<Timeline>,
    #[prost(string, tag = "5210")]
    pub(super) requests: String,
}

/// [`crate::profile::timeline::Timeline`] in columns, each with a number for every event.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Timeline {
    #[prost(uint64, tag = "1")]
    pub(super) dropped: u64,
    /// In the order of time, so never negative.
    #[prost(uint64, repeated, tag = "2")]
    pub(super) time_delta: Vec<u64>,
    #[prost(sint64, repeated, tag = "3")]
    pub(super) sample_delta: Vec<i64>,
    /// An entry for each sample type.
    #[prost(message, repeated, tag = "4")]
    pub(super) column: Vec<Column>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Column {
    /// Empty if all are 0.
    #[prost(uint64, repeated, tag = "1")]
    pub(super) value: Vec<u64>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct ValueType {
    #[prost(int64, tag = "1")]
    pub(super) r#type: Text,
    #[prost(int64, tag = "2")]
    pub(super) unit: Text,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Sample {
    /// Leaf first.
    #[prost(uint64, repeated, tag = "1")]
    pub(super) location_id: Vec<u64>,
    /// An entry for each sample type.
    #[prost(int64, repeated, tag = "2")]
    pub(super) value: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    pub(super) label: Vec<Label>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Label {
    #[prost(int64, tag = "1")]
    pub(super) key: Text,
    #[prost(int64, tag = "2")]
    pub(super) str: Text,
    #[prost(int64, tag = "3")]
    pub(super) num: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Mapping {
    #[prost(uint64, tag = "1")]
    pub(super) id: u64,
    #[prost(int64, tag = "5")]
    pub(super) filename: Text,
    #[prost(bool, tag = "7")]
    pub(super) has_functions: bool,
    #[prost(bool, tag = "8")]
    pub(super) has_filenames: bool,
    #[prost(bool, tag = "9")]
    pub(super) has_line_numbers: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Location {
    #[prost(uint64, tag = "1")]
    pub(super) id: u64,
    #[prost(uint64, tag = "2")]
    pub(super) mapping_id: u64,
    /// The field of other programs that names a frame without a name.
    #[prost(uint64, tag = "3")]
    pub(super) address: u64,
    #[prost(message, repeated, tag = "4")]
    pub(super) line: Vec<Line>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Line {
    #[prost(uint64, tag = "1")]
    pub(super) function_id: u64,
    #[prost(int64, tag = "2")]
    pub(super) line: i64,
}

/// Field 3, `system_name`, stays out: where it is set, `go tool pprof` takes names for C++ and cuts
/// `<...>` and `(...)` out of them.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Function {
    #[prost(uint64, tag = "1")]
    pub(super) id: u64,
    #[prost(int64, tag = "2")]
    pub(super) name: Text,
    #[prost(int64, tag = "4")]
    pub(super) filename: Text,
    #[prost(int64, tag = "5")]
    pub(super) start_line: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Thread {
    #[prost(uint64, tag = "1")]
    pub(super) native_id: u64,
    #[prost(int64, tag = "2")]
    pub(super) name: Text,
}
