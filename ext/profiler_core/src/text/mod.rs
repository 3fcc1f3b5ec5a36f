//! Text for people.

pub mod units;
