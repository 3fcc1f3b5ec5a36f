//! The part of the profiler that needs no Ruby: no VM, no clock and no thread but the collector's.
//!
//! A module's name says when its code runs or what it owns. Imports go down this page only (`rake imports`):
//!
//! | module | what it does |
//! |---|---|
//! | [`upload`] | a profile to the requests of profiling engines, within their limits |
//! | [`format`] | a profile to bytes, and bytes to a profile: one file or folder a format |
//! | [`store`] | files as a whole, and directories that keep the newest |
//! | [`analysis`] | a profile to numbers: one question a file |
//! | [`live`] | what the control socket of a running process is asked, and what it answers |
//! | [`pipeline`] | the ring to the sessions, on the thread that drains |
//! | [`result`] | the sums of a session to its profile |
//! | [`tables`] | stacks, handles and names, for as long as code lives |
//! | [`session`] | what one session adds up |
//! | [`ticking`] | which threads tick, how, and how often |
//! | [`profile`] | the finished result |
//! | [`sampling`] | which event is a sample; safe in a signal handler |
//! | [`record`] | what a handler writes; safe in a signal handler |
//! | [`error`] | the errors, in words for the user |
//! | [`text`] | numbers and names as people read them |
//! | [`ids`], [`rng`], [`claim`], `sync` | ids of tables, random numbers, claims on timers, atomics |
//!
//! ```
//! use profiler_core::format::{self, Format};
//! use profiler_core::profile::Profile;
//!
//! let mut file = Vec::new();
//! format::write(Format::Pprof, &Profile::default(), &mut file)?;
//! assert_eq!(format::read(&file)?.samples.len(), 0);
//! # Ok::<(), profiler_core::error::Error>(())
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod analysis;
pub mod error;
pub mod format;
pub mod ids;
pub mod live;
pub mod pipeline;
pub mod profile;
pub mod result;
pub mod session;
pub mod store;
mod sync;
pub mod tables;
pub mod text;
pub mod ticking;
pub mod upload;

// The modules that run in signal handlers and hooks. Without the prelude of std, `Vec`, `Box` and `format!`
// are available only through an import, which a reader sees. The attribute also holds for the files of a
// module.
#[no_implicit_prelude]
pub mod claim;
#[no_implicit_prelude]
pub mod record;
#[no_implicit_prelude]
pub mod rng;
#[no_implicit_prelude]
pub mod sampling;
