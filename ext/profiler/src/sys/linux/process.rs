//! The command line of this process, as others see it.

use ::core::prelude::rust_2021::*;
use ::std::fs;
use ::std::vec::Vec;

use crate::sys::clock::read;

/// Returns the command line, as `ps` shows it, with a zero after each argument: an app may have changed it.
pub(crate) fn command_line() -> Vec<u8> {
    fs::read("/proc/self/cmdline").unwrap_or_default()
}

/// Returns the age of the process in seconds. Returns `None` if the kernel does not report it.
pub(crate) fn age_s() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in parentheses, may contain spaces and parentheses.
    let ticks: f64 = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()?;
    // SAFETY: takes a number and reads a setting.
    let each_s = unsafe { ::libc::sysconf(::libc::_SC_CLK_TCK) } as f64;
    // The time since the system was started, from which the kernel dates processes.
    let boot_ns = read(::libc::CLOCK_BOOTTIME).unwrap_or(0);
    Some((boot_ns as f64 / 1e9 - ticks / each_s).max(0.0))
}
