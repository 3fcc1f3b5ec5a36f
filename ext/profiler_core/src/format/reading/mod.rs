//! The parts that all readers share: what a file may cost, and the builder of the profile.

mod budget;
mod builder;

pub(super) use crate::profile::table_builder::Row;
pub(super) use budget::{AtMost, Budget};
pub(super) use builder::{Builder, MOST_FRAMES};
