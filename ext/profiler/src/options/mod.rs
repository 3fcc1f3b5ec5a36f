//! From Ruby's values to the definition of a session.
//!
//! No session is started here.

mod config;
mod keywords;
pub(crate) mod mode;
mod numbers;
mod trim_path;
pub(crate) mod wall;

pub(crate) use config::{gc_place, Bounds, Config, ThreadChoice};
pub(crate) use mode::modes;
