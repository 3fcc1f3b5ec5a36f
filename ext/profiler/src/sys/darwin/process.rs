//! The command line of this process, as others see it.

use ::core::mem::{size_of, zeroed};
use ::core::prelude::rust_2021::*;
use ::std::env;
use ::std::os::unix::ffi::OsStringExt;
use ::std::vec::Vec;

use crate::sys::clock::realtime_ns;

/// Returns the command line that the process was started with, with a zero after each argument.
pub(crate) fn command_line() -> Vec<u8> {
    env::args_os().flat_map(|it| it.into_vec().into_iter().chain([0])).collect()
}

/// Returns the age of the process in seconds. Returns `None` if the kernel does not report it.
pub(crate) fn age_s() -> Option<f64> {
    let size = size_of::<::libc::proc_bsdinfo>() as i32;
    // SAFETY: zeros are a valid value of the struct, which holds only numbers; the kernel writes at most
    // `size` bytes into it.
    let (info, written) = unsafe {
        let mut info: ::libc::proc_bsdinfo = zeroed();
        let written =
            ::libc::proc_pidinfo(::libc::getpid(), ::libc::PROC_PIDTBSDINFO, 0, (&raw mut info).cast(), size);
        (info, written)
    };
    let begun_s = info.pbi_start_tvsec as f64 + info.pbi_start_tvusec as f64 / 1e6;
    (written == size).then(|| (realtime_ns() as f64 / 1e9 - begun_s).max(0.0))
}
