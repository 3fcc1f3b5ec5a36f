//! Questions asked of a [`Profile`](crate::profile::Profile), one file each.

pub mod by;
pub mod merge;
pub mod top;
