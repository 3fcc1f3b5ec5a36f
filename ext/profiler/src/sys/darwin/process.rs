//! This process, as others see it.

use ::core::mem::{size_of, zeroed};
use ::core::prelude::rust_2021::*;
use ::std::env;
use ::std::os::unix::ffi::OsStringExt;
use ::std::vec::Vec;

use crate::sys::clock::realtime_ns;

/// The command line that it was started with, with a zero after each argument.
pub(crate) fn command_line() -> Vec<u8> {
    env::args_os().flat_map(|it| it.into_vec().into_iter().chain([0])).collect()
}

/// The seconds for which the process has lived. `None` if the kernel does not say.
pub(crate) fn age_s() -> Option<f64> {
    let size = size_of::<::libc::proc_bsdinfo>() as i32;
    // SAFETY: zeros are a value of the struct, which holds numbers alone; the kernel writes at most `size` bytes into it.
    let (info, written) = unsafe {
        let mut info: ::libc::proc_bsdinfo = zeroed();
        let written =
            ::libc::proc_pidinfo(::libc::getpid(), ::libc::PROC_PIDTBSDINFO, 0, (&raw mut info).cast(), size);
        (info, written)
    };
    let begun_s = info.pbi_start_tvsec as f64 + info.pbi_start_tvusec as f64 / 1e6;
    (written == size).then(|| (realtime_ns() as f64 / 1e9 - begun_s).max(0.0))
}
