//! Text for people.

mod clean;
pub mod units;

pub use clean::clean;
