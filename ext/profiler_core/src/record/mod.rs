//! What a handler or hook writes, and the ring that it writes to. Safe in a handler.

pub mod class;
pub mod counters;
pub mod detail;
pub mod frame;
mod kind;
pub mod ring;
pub mod sample;
