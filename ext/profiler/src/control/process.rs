//! The command line of this process, for those who look into it.

use crate::sys::process::command_line;

/// Returns the command line, as `ps` shows it: an app may have changed it.
pub(crate) fn program() -> String {
    let line = command_line();
    let line = String::from_utf8_lossy(&line).replace('\0', " ");
    let clean = |it: char| if profiler_core::text::is_harmful(it) { ' ' } else { it };
    line.trim_end().chars().take(4_096).map(clean).collect()
}
