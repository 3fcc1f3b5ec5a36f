//! Questions asked of a [`Profile`](crate::profile::Profile), one file each.

pub mod allocations;
pub mod call_tree;
pub mod code_origin;
pub mod diff;
pub mod filter;
pub mod gc;
pub mod group_by;
pub mod gvl_blame;
pub mod merge;
pub mod method;
mod sum;
pub mod top;
pub mod trim_paths;
