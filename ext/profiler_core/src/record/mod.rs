//! The records that handlers and hooks write, and the ring that they write to. Safe to use in a handler.
//!
//! The code in this module neither allocates nor waits, and it has no prelude of std.

pub mod counters;
pub mod detail;
pub mod frame;
mod header;
mod kind;
pub mod object_class;
mod raw;
pub mod ring;
mod span;

pub use header::{Header, WallTimes};
pub use kind::{Allocation, Kind, ObjectId, State};
pub use raw::{push, push_gvl_wait, push_label_switch, push_wait_extension, RawRecord, Walk};
pub use span::Span;
