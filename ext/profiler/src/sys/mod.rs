//! The door to the kernel: clocks and the signal. Safe in a handler.
//!
//! Nothing here knows of Ruby. What POSIX has stands in this folder, and the rest in `linux`.

pub(crate) mod clock;
pub(crate) mod errno;
pub(crate) mod native_thread;
pub(crate) mod peer;
pub(crate) mod sender;
pub(crate) mod sigprof;
pub(crate) mod usage;

mod linux;

use linux as system;

pub(crate) use system::{context, perf_counter, posix_timer, process, semaphore, siginfo};
