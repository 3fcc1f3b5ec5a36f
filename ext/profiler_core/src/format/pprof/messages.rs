//! The messages of the file, by field number: those of pprof, and ours from 5201 on.

use prost::Message;

/// An index into the string table.
pub(crate) type Text = i64;

/// The fields that show which program wrote the file. All others are skipped.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Head {
    #[prost(message, repeated, tag = "1")]
    pub(crate) sample_type: Vec<ValueType>,
    #[prost(uint64, tag = "5201")]
    pub(crate) format_version: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Profile {
    #[prost(message, repeated, tag = "1")]
    pub(crate) sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) sample: Vec<Sample>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) mapping: Vec<Mapping>,
    #[prost(message, repeated, tag = "4")]
    pub(crate) location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    pub(crate) function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    pub(crate) string_table: Vec<String>,
    #[prost(int64, tag = "9")]
    pub(crate) time_nanos: i64,
    #[prost(int64, tag = "10")]
    pub(crate) duration_nanos: i64,
    #[prost(message, optional, tag = "11")]
    pub(crate) period_type: Option<ValueType>,
    #[prost(int64, tag = "12")]
    pub(crate) period: i64,
    #[prost(int64, repeated, tag = "13")]
    pub(crate) comment: Vec<Text>,
    #[prost(int64, tag = "14")]
    pub(crate) default_sample_type: Text,

    #[prost(uint64, tag = "5201")]
    pub(crate) format_version: u64,
    /// The [`crate::profile::Meta`] as JSON.
    #[prost(string, tag = "5202")]
    pub(crate) meta: String,
    /// The [`crate::profile::Stats`] as JSON.
    #[prost(string, tag = "5203")]
    pub(crate) stats: String,
    /// The class name of each function.
    #[prost(int64, repeated, tag = "5204")]
    pub(crate) function_class_name: Vec<Text>,
    /// The method name of each function.
    #[prost(int64, repeated, tag = "5205")]
    pub(crate) function_method_name: Vec<Text>,
    #[prost(message, repeated, tag = "5206")]
    pub(crate) thread: Vec<Thread>,
    /// The [`crate::profile::Marker`]s as JSON; empty if there are none.
    #[prost(string, tag = "5207")]
    pub(crate) markers: String,
    /// The index in `thread` for each sample. This is the last field, as its length shows whether a file was
    /// cut.
    #[prost(uint64, repeated, tag = "5208")]
    pub(crate) sample_thread: Vec<u64>,
    /// The timeline, which is only read here. It is written before everything else, as [`Front`].
    #[prost(message, optional, tag = "5209")]
    pub(crate) timeline: Option<Timeline>,
    /// The [`crate::profile::Requests`] as JSON; empty if there are none. Written in [`Front`] as well.
    #[prost(string, tag = "5210")]
    pub(crate) requests: String,
    /// The [`crate::memory::history::MemoryRow`]s as JSON; empty if there are none. Written in [`Front`] as
    /// well.
    #[prost(string, tag = "5211")]
    pub(crate) memory: String,
    /// The [`crate::memory::ledger::Ledger`]s, each as JSON. Written in [`Front`] as well.
    #[prost(string, repeated, tag = "5212")]
    pub(crate) ledger: Vec<String>,
}

/// The front of the file: the version once more, the timeline, the requests, and the memory. With the version here, a
/// file that was cut is not mistaken for another program's. With the others here, the rest still ends with
/// `sample_thread`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Front {
    #[prost(uint64, tag = "5201")]
    pub(crate) format_version: u64,
    #[prost(message, optional, tag = "5209")]
    pub(crate) timeline: Option<Timeline>,
    #[prost(string, tag = "5210")]
    pub(crate) requests: String,
    #[prost(string, tag = "5211")]
    pub(crate) memory: String,
    #[prost(string, repeated, tag = "5212")]
    pub(crate) ledger: Vec<String>,
}

/// The [`crate::profile::timeline::Timeline`] in columns, each with a number for every event.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Timeline {
    #[prost(uint64, tag = "1")]
    pub(crate) dropped: u64,
    /// The differences between times, which are sorted and therefore never negative.
    #[prost(uint64, repeated, tag = "2")]
    pub(crate) time_delta: Vec<u64>,
    #[prost(sint64, repeated, tag = "3")]
    pub(crate) sample_delta: Vec<i64>,
    /// The weights of each sample type.
    #[prost(message, repeated, tag = "4")]
    pub(crate) column: Vec<Column>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Column {
    /// The weights; empty if all are 0.
    #[prost(uint64, repeated, tag = "1")]
    pub(crate) value: Vec<u64>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct ValueType {
    #[prost(int64, tag = "1")]
    pub(crate) r#type: Text,
    #[prost(int64, tag = "2")]
    pub(crate) unit: Text,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Sample {
    /// The locations, leaf first.
    #[prost(uint64, repeated, tag = "1")]
    pub(crate) location_id: Vec<u64>,
    /// The values, one for each sample type.
    #[prost(int64, repeated, tag = "2")]
    pub(crate) value: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) label: Vec<Label>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct Label {
    #[prost(int64, tag = "1")]
    pub(crate) key: Text,
    #[prost(int64, tag = "2")]
    pub(crate) str: Text,
    #[prost(int64, tag = "3")]
    pub(crate) num: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct Mapping {
    #[prost(uint64, tag = "1")]
    pub(crate) id: u64,
    #[prost(int64, tag = "5")]
    pub(crate) filename: Text,
    #[prost(bool, tag = "7")]
    pub(crate) has_functions: bool,
    #[prost(bool, tag = "8")]
    pub(crate) has_filenames: bool,
    #[prost(bool, tag = "9")]
    pub(crate) has_line_numbers: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Location {
    #[prost(uint64, tag = "1")]
    pub(crate) id: u64,
    #[prost(uint64, tag = "2")]
    pub(crate) mapping_id: u64,
    /// The address, by which other programs' frames without a name are named.
    #[prost(uint64, tag = "3")]
    pub(crate) address: u64,
    #[prost(message, repeated, tag = "4")]
    pub(crate) line: Vec<Line>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct Line {
    #[prost(uint64, tag = "1")]
    pub(crate) function_id: u64,
    #[prost(int64, tag = "2")]
    pub(crate) line: i64,
}

/// A function. Field 3, `system_name`, is left out: if it is set, `go tool pprof` takes names for C++ and
/// cuts `<...>` and `(...)` out of them.
#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct Function {
    #[prost(uint64, tag = "1")]
    pub(crate) id: u64,
    #[prost(int64, tag = "2")]
    pub(crate) name: Text,
    #[prost(int64, tag = "4")]
    pub(crate) filename: Text,
    #[prost(int64, tag = "5")]
    pub(crate) start_line: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct Thread {
    #[prost(uint64, tag = "1")]
    pub(crate) native_id: u64,
    #[prost(int64, tag = "2")]
    pub(crate) name: Text,
}
