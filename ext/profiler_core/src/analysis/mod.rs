//! Questions about a [`Profile`](crate::profile::Profile), one in each file.
//!
//! No question reads a clock, a file or the environment.

pub mod allocations;
pub mod anonymize;
pub mod call_tree;
pub mod code_origin;
pub mod diff;
mod during;
#[cfg(all(test, not(loom)))]
pub(crate) mod example;
pub mod filter;
pub mod findings;
pub mod gc;
pub mod group_by;
pub mod gvl_blame;
pub mod idle;
mod loading;
pub mod markers;
pub mod merge;
pub mod method;
pub mod overhead;
pub(crate) mod package;
pub mod requires;
pub mod requires_diff;
mod serving;
pub(crate) mod sites;
pub mod state_leaves;
mod sum;
pub(crate) mod template;
pub mod top;
pub mod trim_paths;
mod wait_cause;
