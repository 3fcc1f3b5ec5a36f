//! The tables of a generation, which the drain lock guards: stacks, handles, and the names that are known of them.

pub(crate) mod generations;
pub mod name_cache;
mod recent_stack;
pub mod stacks;
