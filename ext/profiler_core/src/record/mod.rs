//! The records that a handler or hook writes, and the ring that it writes to. Safe in a handler.
//!
//! Nothing here allocates or waits, and there is no prelude of std.

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
