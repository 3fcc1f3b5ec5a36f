//! The choice of the events that become samples. Safe in a handler.

pub mod blocks;
mod meter;
pub mod sampled;
pub mod tracked;
pub mod walls;
