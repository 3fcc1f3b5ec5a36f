//! What a thread waits for, as `/proc/PID/task/TID/syscall` says, and whether it may be interrupted there.

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

/// The calls that continue after an interruption, for the program as if there had been none.
const CONTINUED: [i64; 9] = [READ, SELECT, ACCEPT, WAIT4, FUTEX, WAITID, PSELECT6, PPOLL, ACCEPT4];

/// A thread, by its fitness: the least is the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fitness {
    /// The thread of Ruby's own that wakes others, from Ruby 3.3 on. No code of the program runs on it.
    Timer,
    /// It waits in a call that continues.
    Waits,
    /// It runs.
    Runs,
}

/// Returns how fit a thread is, by the line of the kernel. `ruby_data` is where Ruby's library has its data.
/// Returns `None` if an interruption could be seen.
#[must_use]
pub fn fitness(line: &str, ruby_data: &Range<u64>) -> Option<Fitness> {
    if line.starts_with("running") {
        return Some(Fitness::Runs);
    }
    let mut words = line.split_ascii_whitespace();
    let call: i64 = words.next()?.parse().ok()?;
    let hex = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
    match call {
        // Its events are in Ruby's own data.
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
