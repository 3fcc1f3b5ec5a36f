//! The heart of the profiler that needs no Ruby: `cargo test` here runs without one.
//!
//! Samples come in as raw records over the [`ring`], the [`collector`] sums them up, the VM side
//! names what it is asked about, and out comes a [`profile::Profile`] for the formats to write.
//! Nothing here knows what a handle is, and nothing here is `unsafe`.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod aggregate;
pub mod analysis;
pub mod collector;
mod drain;
pub mod error;
mod footprint;
pub mod format;
pub mod hub;
pub mod ids;
pub mod labels;
pub mod names;
pub mod profile;
pub mod stacks;
mod sync;
pub mod timeline;
pub mod tracked;
pub mod unnamed;
pub mod view;
pub mod weights;

// The rooms that run in signal handlers. Without the prelude of std there is no `Vec`, no `Box` and
// no `format!` in them but by an import that a reader sees.
#[no_implicit_prelude]
pub mod blocks;
#[no_implicit_prelude]
pub mod claim;
#[no_implicit_prelude]
pub mod class;
#[no_implicit_prelude]
pub mod counters;
#[no_implicit_prelude]
pub mod detail;
#[no_implicit_prelude]
pub mod frame;
#[no_implicit_prelude]
mod kind;
#[no_implicit_prelude]
mod meter;
#[no_implicit_prelude]
pub mod random;
#[no_implicit_prelude]
pub mod ring;
#[no_implicit_prelude]
pub mod sample;
#[no_implicit_prelude]
pub mod sampled;
#[no_implicit_prelude]
pub mod walls;
