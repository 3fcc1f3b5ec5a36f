//! The door to the kernel: clocks and the signal. Safe in a handler.
//!
//! Nothing here knows of Ruby.

pub(crate) mod clock;
pub(crate) mod native_thread;
pub(crate) mod peer;
pub(crate) mod posix_timer;
pub(crate) mod sender;
pub(crate) mod siginfo;
pub(crate) mod sigprof;
pub(crate) mod usage;
