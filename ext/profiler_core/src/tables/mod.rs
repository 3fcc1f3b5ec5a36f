//! The tables of a generation, guarded by the drain lock: stacks, handles, and their known names.

pub(crate) mod generations;
pub mod libraries;
pub mod name_cache;
mod recent_stack;
pub mod stacks;
