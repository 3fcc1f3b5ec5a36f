//! The calls of one traced method, added up.
//!
//! A hook of the VM reports each call and each return. [`OpenCalls`] pairs them, and [`Tally`] adds them up.
//! Both have a fixed size, allocated before the first call, so adding to them never allocates. What does not fit is
//! counted.

mod durations;
mod finished_calls;
mod methods;
mod open_calls;
mod summary;
mod tally;

pub use durations::{Bucket, Durations};
pub use finished_calls::{FinishedCall, FinishedCalls};
pub use methods::table;
pub use open_calls::{OpenCall, OpenCalls};
pub use summary::{Caller, Summary};
pub use tally::{CallerSum, End, Tally};
