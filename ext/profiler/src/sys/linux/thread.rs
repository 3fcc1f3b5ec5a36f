//! The kernel's threads.

use ::std::format;
use ::std::vec::Vec;

/// Returns the kernel's id of the calling thread, by a system call.
#[inline]
pub(crate) fn native_id() -> i32 {
    // SAFETY: takes no argument and cannot fail.
    unsafe { ::libc::gettid() }
}

/// Returns the kernel's id of the main thread. `known` is the id that Ruby has, which in a forked child may still be
/// the parent's. The main thread of a child is its first thread, whose id is the process id.
pub(crate) fn id_of_main(known: i32) -> i32 {
    // SAFETY: the arguments are numbers, and signal 0 is not sent.
    let sent = unsafe { ::libc::syscall(::libc::SYS_tgkill, ::libc::getpid(), known, 0) };
    let is_gone = sent != 0
        && ::std::io::Error::last_os_error().raw_os_error().is_some_and(|error| error == ::libc::ESRCH);
    if is_gone {
        ::std::process::id() as i32
    } else {
        known
    }
}

/// Returns the kernel's name of the calling thread: up to 15 bytes, followed by zeros.
pub(crate) fn native_name() -> [u8; 16] {
    let mut name = [0u8; 16];
    // SAFETY: PR_GET_NAME writes at most 16 bytes.
    unsafe { ::libc::prctl(::libc::PR_GET_NAME, name.as_mut_ptr()) };
    name
}

/// Returns the kernel's name of a thread of this process; empty if it has ended.
pub(crate) fn name_of(native_id: i32) -> Vec<u8> {
    let mut name = ::std::fs::read(format!("/proc/self/task/{native_id}/comm")).unwrap_or_default();
    name.truncate(name.trim_ascii_end().len());
    name
}

/// Makes the sleeps of the calling thread end when they should, not up to 50 us later. This is a hint that no
/// code depends on.
pub(crate) fn sleep_precisely() {
    // SAFETY: sets a number for the calling thread.
    unsafe { ::libc::prctl(::libc::PR_SET_TIMERSLACK, 1) };
}
