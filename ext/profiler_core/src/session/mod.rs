//! A session: its definition and its sums.
//!
//! Sessions are independent of each other.

pub mod aggregate;
pub mod gvl_ticks;
pub mod key;
pub mod labels;
mod recorder;
pub mod spans;
pub mod spec;
pub mod state;

pub(crate) use recorder::Recorder;
