//! Decides from `/proc/PID/task/TID/syscall` whether a thread may be interrupted where it is.

use std::ops::Range;

const READ: i64 = 0;
const SELECT: i64 = 23;
const ACCEPT: i64 = 43;
const WAIT4: i64 = 61;
const FUTEX: i64 = 202;
const EPOLL_WAIT: i64 = 232;
const WAITID: i64 = 247;
const PSELECT6: i64 = 270;
const PPOLL: i64 = 271;
const ACCEPT4: i64 = 288;

/// The system calls that resume after an interruption, so that the program cannot notice it.
const CONTINUED: [i64; 9] = [READ, SELECT, ACCEPT, WAIT4, FUTEX, WAITID, PSELECT6, PPOLL, ACCEPT4];

/// How suitable a thread is for a call. Smaller is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fitness {
    /// Ruby's timer thread (from Ruby 3.3 on), which never runs code of the program.
    Timer,
    /// A thread that waits in a system call that resumes.
    Waits,
    /// A running thread.
    Runs,
}

/// Returns how suitable a thread is. `line` is the kernel's line about it, and `ruby_data` the address range
/// of the data of Ruby's library. Returns `None` if the program could notice an interruption.
#[must_use]
pub fn fitness(line: &str, ruby_data: &Range<u64>) -> Option<Fitness> {
    if line.starts_with("running") {
        return Some(Fitness::Runs);
    }
    let mut words = line.split_ascii_whitespace();
    let call: i64 = words.next()?.parse().ok()?;
    let hex = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
    match call {
        // Only the timer thread waits with a buffer for events in the data of Ruby's library.
        EPOLL_WAIT if ruby_data.contains(&hex(words.nth(1)?)?) => Some(Fitness::Timer),
        -1 => Some(Fitness::Runs), // in a page fault
        call if CONTINUED.contains(&call) => Some(Fitness::Waits),
        _ => None,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn knows_which_calls_continue() {
        let data = 0x1000..0x2000;
        let of = |line| fitness(line, &data);
        assert_eq!(of("232 0x3 0x1800 0x10 0xffffffff 0x0 0x0 0x7f 0x7f"), Some(Fitness::Timer));
        assert_eq!(of("232 0x3 0x9800 0x10 0xffffffff 0x0 0x0 0x7f 0x7f"), None);
        assert_eq!(of("202 0x3 0x189 0x0 0x0 0x0 0x0 0x7f 0x7f"), Some(Fitness::Waits));
        assert_eq!((of("running\n"), of("-1 0x7f 0x7f")), (Some(Fitness::Runs), Some(Fitness::Runs)));
        assert_eq!((of("35 0x0 0x0 0x0 0x0 0x0 0x0 0x7f 0x7f"), of("7 0x0"), of("")), (None, None, None));
        assert!(Fitness::Timer < Fitness::Waits && Fitness::Waits < Fitness::Runs);
    }
}
