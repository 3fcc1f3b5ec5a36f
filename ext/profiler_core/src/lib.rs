//! The part of the profiler that needs no Ruby: no VM, no clock and no thread but the collector's.
//!
//! The name of a module says when its code runs or what it owns. Imports only go down this page
//! (`rake imports`):
//!
//! | module | what it does |
//! |---|---|
//! | [`upload`] | converts a profile to the requests of profiling engines, within their limits |
//! | [`format`] | converts a profile to bytes, and bytes to a profile: one file or folder for each format |
//! | [`store`] | writes files as a whole, and keeps the newest files of a directory |
//! | [`analysis`] | computes numbers from a profile: one question in each file |
//! | [`live`] | parses the requests to the control socket of a running process, and formats the answers |
//! | [`attach`] | finds and builds what is needed to join a process that has not loaded us |
//! | [`memory`] | says what the resident memory of a process is, and finds the owner of each block of malloc |
//! | [`pipeline`] | moves records from the ring to the sessions, on the thread that drains |
//! | [`result`] | turns the sums of a session into its profile |
//! | [`tables`] | keeps stacks, handles and names, for as long as code lives |
//! | [`session`] | adds up the records of one session |
//! | [`ticking`] | decides which threads tick, how, and how often |
//! | [`trace`] | adds up the calls of one traced method |
//! | [`profile`] | defines the finished result |
//! | [`sampling`] | decides which event is a sample; safe in a signal handler |
//! | [`record`] | defines what a handler writes; safe in a signal handler |
//! | [`error`] | defines the errors, in words for the user |
//! | [`text`] | formats numbers and names for people |
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
pub mod attach;
pub mod control;
pub mod error;
pub mod format;
pub mod ids;
pub mod memory;
pub mod pipeline;
pub mod profile;
pub mod result;
pub mod session;
pub mod store;
mod sync;
pub mod tables;
pub mod text;
pub mod ticking;
pub mod trace;
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
