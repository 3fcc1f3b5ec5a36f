//! The choice of the events that become samples. Safe to use in a handler.
//!
//! Nothing here calls the VM or the system.

pub mod allocation_sampler;
pub mod byte_sampler;
pub mod estimated_wall_clock;
pub mod live_blocks;
pub mod live_objects;
mod poisson;
pub mod wall_clock;
pub use poisson::UNSAMPLED_NS;
