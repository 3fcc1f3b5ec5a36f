//! The way of a record from the ring to the sessions, and of a session to its profile.
//!
//! All of it runs on the thread that drains, under the drain lock, and never in a handler.

pub mod collector;
mod drain;
mod ended_threads;
mod generations;
pub mod hub;
pub mod name_cache;
mod named_sums;
mod part;
mod recent_stack;
pub mod registry;
pub mod stacks;
pub mod unresolved;

pub use drain::{SessionId, BATCH};
