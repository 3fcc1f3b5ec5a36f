//! The system call that a thread waits in.

use ::core::prelude::rust_2021::*;

use super::task_file;

/// The calls that the kernel, with SA_RESTART, or the C library repeats after a signal.
const RESTARTED: &[::libc::c_long] = &[
    ::libc::SYS_futex,
    ::libc::SYS_read,
    ::libc::SYS_readv,
    ::libc::SYS_pread64,
    ::libc::SYS_write,
    ::libc::SYS_writev,
    ::libc::SYS_pwrite64,
    ::libc::SYS_recvfrom,
    ::libc::SYS_recvmsg,
    ::libc::SYS_sendto,
    ::libc::SYS_sendmsg,
    ::libc::SYS_accept,
    ::libc::SYS_accept4,
    ::libc::SYS_wait4,
    ::libc::SYS_waitid,
    ::libc::SYS_flock,
    ::libc::SYS_fcntl,
];

/// The calls that the kernel ends after a signal, and in which Ruby waits without the GVL: Ruby then
/// continues to wait.
const REPEATED_BY_RUBY: &[::libc::c_long] = &[
    ::libc::SYS_ppoll,
    ::libc::SYS_pselect6,
    ::libc::SYS_epoll_pwait,
    #[cfg(target_arch = "x86_64")]
    ::libc::SYS_poll,
    #[cfg(target_arch = "x86_64")]
    ::libc::SYS_select,
    #[cfg(target_arch = "x86_64")]
    ::libc::SYS_epoll_wait,
];

/// Returns whether a signal ends no call early: the thread computes, or waits in a call that continues
/// afterwards. A call that sleeps, or that a file system serves, would end. `without_gvl` is true if the
/// thread may be in one of Ruby's own waits.
pub(crate) fn may_be_interrupted(native_id: i32, without_gvl: bool) -> bool {
    let mut text = [0_u8; 16];
    let Some(text) = task_file::read(native_id, c"syscall", &mut text) else {
        return true; // the kernel does not say
    };
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    let number =
        digits.fold(0, |number: ::libc::c_long, digit| number * 10 + ::libc::c_long::from(digit - b'0'));
    // Otherwise the file says "running", or that the thread is in no call.
    !text.first().is_some_and(u8::is_ascii_digit)
        || RESTARTED.contains(&number)
        || without_gvl && REPEATED_BY_RUBY.contains(&number)
}
