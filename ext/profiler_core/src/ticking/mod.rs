//! The ticks of threads: by which engine, at which intervals, and for which share of the CPU.

pub mod engine;
pub mod governor;
pub mod plan;
