//! The calls of one traced method, added up.
//!
//! A hook of the VM reports each call and each return. [`OpenCalls`] pairs them, and [`CallSums`] adds them up.
//! Both have a fixed size, allocated before the first call, so adding to them never allocates. What does not fit is
//! counted. [`ShadowStacks`] does the same for all functions that run inside of these calls, if that is requested.

mod call_graph;
mod durations;
mod finished_calls;
mod inside;
mod methods;
mod open_calls;
mod shadow_stacks;
mod summary;
mod tally;

pub use call_graph::{Activation, CallGraph, EdgeSum, FunctionKey, FunctionSum};
pub use durations::{Bucket, Durations};
pub use finished_calls::{FinishedCall, FinishedCalls};
pub use inside::{InnerCaller, InnerFunction, Inside};
pub use methods::table;
pub use open_calls::{OpenCall, OpenCalls};
pub use shadow_stacks::{ShadowStacks, Shortcomings, StackPlace};
pub use summary::{Caller, Summary};
pub use tally::{CallSums, CallerSum, End};
