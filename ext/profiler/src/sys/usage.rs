//! The resources that child processes used, by the kernel's count.

use ::core::prelude::rust_2021::*;

use super::system::MAXRSS_BYTES;

/// The resources of the children that ended and were waited for, with their own children.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    /// CPU time in user mode, ns.
    pub(crate) user_ns: u64,
    /// CPU time in the kernel, ns.
    pub(crate) system_ns: u64,
    /// The most memory that one of them had at once, bytes.
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

/// The resources that all children of this process used so far.
pub(crate) fn of_children() -> Usage {
    // SAFETY: zeros are a value of the struct, which holds numbers alone.
    let mut usage: ::libc::rusage = unsafe { ::core::mem::zeroed() };
    // SAFETY: it writes into the struct, which outlives the call.
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
