//! Questions asked of a [`Profile`](crate::profile::Profile), one file each.

pub mod merge;
pub mod top;
