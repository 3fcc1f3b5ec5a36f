//! The path of a record from the ring to the sessions, and the lock that guards it.
//!
//! Records are drained by the collector thread or by a thread that starts or stops a session, never by a
//! handler.

pub mod collector;
mod drain;
mod dumps;
pub mod hub;
pub mod registry;

pub use drain::{SessionId, BATCH};
pub use dumps::DumpedStack;
