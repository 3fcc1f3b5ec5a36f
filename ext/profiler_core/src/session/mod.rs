//! A session: its definition, and what it has added up.
//!
//! A session knows of no other one.

pub mod aggregate;
pub mod gvl_ticks;
pub mod key;
pub mod labels;
mod recorder;
pub mod spans;
pub mod spec;
pub mod state;

pub(crate) use recorder::Recorder;
