//! Questions asked of a [`Profile`](crate::profile::Profile), one file each.

pub mod top;
