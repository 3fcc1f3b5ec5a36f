//! The door to the kernel: clocks and the signal. Safe in a handler.
//!
//! Nothing in this folder depends on Ruby. Functions that POSIX has are in this folder itself. `linux` and
//! `darwin` have the rest, under the same names. Functions that macOS lacks are no-ops in `darwin`, and no
//! session reaches them ([`NEEDS_LINUX`]).

pub(crate) mod clock;
pub(crate) mod descriptor;
pub(crate) mod errno;
pub(crate) mod interrupts;
pub(crate) mod native_thread;
pub(crate) mod peer;
pub(crate) mod sender;
pub(crate) mod sigprof;
pub(crate) mod usage;

#[cfg(target_os = "macos")]
mod darwin;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(target_os = "macos")]
use darwin as system;
#[cfg(target_os = "linux")]
use linux as system;

#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
pub(crate) use linux::got;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) use linux::tracee;
#[cfg(target_os = "linux")]
pub(crate) use linux::{mapped_table, own_memory};
pub(crate) use system::{
    context, perf_counter, posix_timer, process, run_delay, semaphore, siginfo, snapshot, system_call,
    NEEDS_LINUX,
};
