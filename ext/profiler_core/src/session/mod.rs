//! One session: what it profiles, and what it has added up.

pub mod aggregate;
pub mod labels;
mod recorder;
pub mod view;

pub(crate) use recorder::Recorder;
