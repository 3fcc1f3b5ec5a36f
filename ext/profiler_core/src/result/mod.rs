//! The way of a session's sums to its profile.
//!
//! [`taken::Taken`] are the sums, as they are taken under the drain lock. With their stacks copied they are
//! [`taken::Unresolved`], which lacks names alone. Names make a [`Profile`](crate::profile::Profile) of it. The last two steps run
//! on the thread that requests the profile, without the GVL.

pub(crate) mod ended_threads;
pub(crate) mod named_sums;
pub(crate) mod part;
pub mod taken;
