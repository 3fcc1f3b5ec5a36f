//! The kernel's counters of CPU time (`perf_event_open`), by their descriptors.

use ::core::mem::size_of;
use ::core::prelude::rust_2021::*;

use crate::sys::errno;

/// The part of `struct perf_event_attr` that every kernel knows (`PERF_ATTR_SIZE_VER0`).
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint: u32,
    config1: u64,
}

const SOFTWARE: u32 = 1;
const TASK_CLOCK: u64 = 1;
const DISABLED: u64 = 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const CLOSE_ON_EXEC: ::libc::c_ulong = 8;
const ENABLE: ::libc::c_ulong = 0x2400;
const SET_PERIOD: ::libc::c_ulong = 0x4008_2404;
const SET_SIGNAL: ::libc::c_int = 10;
const GET_SIGNAL: ::libc::c_int = 11;
const SET_OWNER: ::libc::c_int = 15;

#[repr(C)]
struct Owner {
    /// The kind of owner; 0 means a thread.
    kind: ::libc::c_int,
    id: ::libc::pid_t,
}

/// Creates a counter of that thread's CPU time, which does not tick yet. It will never tick in the kernel: a
/// signal there would end a system call that is about to wait.
///
/// # Errors
/// The errno.
pub(crate) fn open(native_id: i32, interval_ns: u64) -> Result<i32, i32> {
    let attributes = Attributes {
        kind: SOFTWARE,
        size: size_of::<Attributes>() as u32,
        config: TASK_CLOCK,
        sample_period: interval_ns,
        flags: DISABLED | EXCLUDE_HYPERVISOR | EXCLUDE_KERNEL,
        wakeup_events: 1,
        ..Attributes::default()
    };
    // SAFETY: the kernel reads as much as `size` says; -1 means any CPU and no group.
    let fd = unsafe {
        let attributes_ptr = &raw const attributes;
        ::libc::syscall(::libc::SYS_perf_event_open, attributes_ptr, native_id, -1, -1, CLOSE_ON_EXEC)
    };
    match i32::try_from(fd) {
        Ok(fd) if fd >= 0 => Ok(fd),
        _ => Err(errno::get()),
    }
}

/// Enables a counter that was just opened, which then sends SIGPROF to its thread.
///
/// # Errors
/// The errno.
pub(crate) fn enable(fd: i32, native_id: i32) -> Result<(), i32> {
    let owner = Owner { kind: 0, id: native_id };
    // SAFETY: the descriptor was just opened; the kernel reads the struct that it is passed.
    let ready = unsafe {
        ::libc::fcntl(fd, ::libc::F_SETFL, ::libc::O_ASYNC | ::libc::O_NONBLOCK) == 0
            && ::libc::fcntl(fd, SET_SIGNAL, ::libc::SIGPROF) == 0
            && ::libc::fcntl(fd, SET_OWNER, &raw const owner) == 0
            && ::libc::ioctl(fd, ENABLE, 0) == 0
    };
    if ready {
        Ok(())
    } else {
        Err(errno::get())
    }
}

/// Sets the interval of the counter, and restarts it.
///
/// # Errors
/// The errno.
///
/// # Signal safety
/// A system call that does not block.
pub(crate) fn set_period(fd: i32, interval_ns: u64) -> Result<(), i32> {
    // SAFETY: the kernel reads one number. If the descriptor is no longer ours, the request is unknown to it.
    match unsafe { ::libc::ioctl(fd, SET_PERIOD, &raw const interval_ns) } {
        0 => Ok(()),
        _ => Err(errno::get()),
    }
}

/// Returns whether a descriptor is still that of our counter. A program that closes all descriptors that it
/// did not open, as daemons do, closes ours as well. The number may be that of one of its own files by now.
pub(crate) fn is_ours(fd: i32) -> bool {
    // SAFETY: the call takes no pointer, and changes nothing of a descriptor that is another file's by now.
    unsafe { ::libc::fcntl(fd, GET_SIGNAL) == ::libc::SIGPROF }
}

/// Closes a counter.
pub(crate) fn close(fd: i32) {
    // SAFETY: the caller got the descriptor from [`open`], and no other code closes it.
    unsafe { ::libc::close(fd) };
}
