//! The parts that all readers share: what a file may cost, and the builder of the profile.

mod budget;
mod builder;

pub(super) use budget::{AtMost, Budget};
pub(super) use builder::{Builder, Row, MOST_FRAMES};
