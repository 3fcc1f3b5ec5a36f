//! This process, as others see it.

use std::fs;

use crate::sys::clock;

/// The command line, as `ps` shows it: an app may have changed it.
pub(super) fn program() -> String {
    let line = fs::read("/proc/self/cmdline").unwrap_or_default();
    let line = String::from_utf8_lossy(&line).replace('\0', " ");
    let clean = |it: char| if profiler_core::text::is_harmful(it) { ' ' } else { it };
    line.trim_end().chars().take(4_096).map(clean).collect()
}

/// The seconds for which the process has lived. `None` if the kernel does not say.
pub(super) fn age_s() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in parentheses, may have spaces and parentheses in it.
    let ticks: f64 = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()?;
    // SAFETY: takes a number and reads a setting.
    let each_s = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64;
    Some((clock::boot_ns() as f64 / 1e9 - ticks / each_s).max(0.0))
}
