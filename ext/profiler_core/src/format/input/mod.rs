//! The parts that all readers share: the limits on what a file may take, and the builder of the profile.
//!
//! Readers build through [`Builder`], which bounds stacks, depth and sums. The memory of a pprof is computed
//! first, field by field (`pprof/budget.rs`). Each frame that is read and each text that is copied is taken
//! from a budget in proportion to the file ([`Budget`]). The output can also repeat names, so formats that do
//! so compute their length before they write (`length.rs`).
//!
//! `tests/fuzz` (`rake check:fuzz`) damages files of all kinds and includes bombs, with an allocator that
//! counts. `rake test:bombs` runs the bombs optimised, from the other crate's package.

mod budget;
mod builder;

pub(super) use crate::profile::table_builder::SampleKey;
pub(super) use budget::{AtMost, Budget};
pub(super) use builder::{Builder, MAX_FRAMES};
