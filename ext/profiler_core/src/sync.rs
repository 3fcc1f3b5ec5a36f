//! The atomics of the ring: those of `core`, or loom's when the ring is being model-checked.

#[cfg(not(loom))]
pub(crate) use ::core::sync::atomic::{AtomicU64, Ordering};
#[cfg(loom)]
pub(crate) use ::loom::sync::atomic::{AtomicU64, Ordering};
