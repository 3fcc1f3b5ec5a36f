//! The tables of a generation, guarded by the drain lock: stacks, handles, and their known names.

pub mod block_names;
pub(crate) mod generations;
pub mod libraries;
pub mod name_cache;
pub mod name_list;
mod recent_stack;
pub mod stacks;
