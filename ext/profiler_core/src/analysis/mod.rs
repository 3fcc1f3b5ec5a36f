//! Questions asked of a [`Profile`](crate::profile::Profile), one file each.

pub mod blame;
pub mod by;
pub(crate) mod calls;
pub mod diff;
pub mod filter;
pub mod gc;
pub mod made;
pub mod merge;
pub mod method;
pub mod origin;
mod sum;
pub mod top;
pub mod tree;
pub mod trim;
