//! The resources that child processes have used, by the kernel's count.

use ::core::prelude::rust_2021::*;

use super::system::MAXRSS_BYTES;

/// The resources of children that have ended and were waited for, including their own children.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    /// CPU time in user mode, in nanoseconds.
    pub(crate) user_ns: u64,
    /// CPU time in the kernel, in nanoseconds.
    pub(crate) system_ns: u64,
    /// The largest amount of memory that one child had at once, in bytes.
    pub(crate) peak_bytes: u64,
    /// Page faults that needed no disk.
    pub(crate) minor_faults: u64,
    /// Page faults that read from a disk.
    pub(crate) major_faults: u64,
    /// Context switches because a thread waited.
    pub(crate) voluntary_switches: u64,
    /// Context switches because another thread was due.
    pub(crate) forced_switches: u64,
}

/// Returns the resources that all children of this process have used so far.
pub(crate) fn of_children() -> Usage {
    // SAFETY: zeros are a valid value of the struct, which holds only numbers.
    let mut usage: ::libc::rusage = unsafe { ::core::mem::zeroed() };
    // SAFETY: the call writes into the struct, which outlives the call.
    if unsafe { ::libc::getrusage(::libc::RUSAGE_CHILDREN, &mut usage) } != 0 {
        return Usage::default();
    }
    let ns = |it: ::libc::timeval| it.tv_sec as u64 * 1_000_000_000 + it.tv_usec as u64 * 1_000;
    Usage {
        user_ns: ns(usage.ru_utime),
        system_ns: ns(usage.ru_stime),
        peak_bytes: usage.ru_maxrss as u64 * MAXRSS_BYTES,
        minor_faults: usage.ru_minflt as u64,
        major_faults: usage.ru_majflt as u64,
        voluntary_switches: usage.ru_nvcsw as u64,
        forced_switches: usage.ru_nivcsw as u64,
    }
}
