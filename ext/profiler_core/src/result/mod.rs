//! The steps from the sums of a session to its profile.
//!
//! [`taken::Taken`] are the sums as they are taken under the drain lock. With their stacks copied, they are
//! [`taken::Unresolved`], which lacks only names. With names, they become a
//! [`Profile`](crate::profile::Profile). The last two steps run on the thread that requests the profile,
//! without the GVL.

pub(crate) mod ended_threads;
pub(crate) mod named_sums;
pub(crate) mod part;
pub mod taken;
