//! The turns of other threads during work that needs the GVL.

use std::time::{Duration, Instant};

use magnus::{Error, Ruby};

use crate::vm::exceptions::error;
use crate::vm::threads::pass;

/// The time for which work holds the GVL before others get it.
const TURN: Duration = Duration::from_micros(500);

/// The same for work that somebody waits for: as long as the VM lets a thread compute that others wait for.
const SLICE: Duration = Duration::from_millis(100);

/// The time after which work is done at once: where many threads compute, their turns take long.
const PATIENCE: Duration = Duration::from_secs(2);

/// The pace of work: how it treats other threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// It is done as soon as possible, as somebody waits for it. Other threads wait for it no longer than for Ruby code.
    AtOnce,
    /// Other threads run in between. Where they compute, each turn of theirs is a time slice of the VM.
    Yielding,
}

/// The turns during one piece of work.
#[derive(Debug)]
pub(crate) struct Turns {
    /// The pace.
    pub(crate) pace: Pace,
    begun: Instant,
    since: Instant,
    /// The process whose work it is.
    process: u32,
}

impl Turns {
    /// Begins with this thread's own turn, in the work of that process.
    pub(crate) fn new(pace: Pace, process: u32) -> Self {
        let now = Instant::now();
        Self { pace, begun: now, since: now, process }
    }

    /// Lets other threads run if this one has worked for half a millisecond, or for a time slice if it is to be done at once.
    /// What is not marked may be gone or moved then.
    ///
    /// # Errors
    /// Exceptions that were delivered meanwhile, and as [`Turns::demand_same_process`].
    pub(crate) fn give(&mut self, ruby: &Ruby) -> Result<(), Error> {
        let turn = match self.pace {
            Pace::AtOnce => SLICE,
            Pace::Yielding => TURN,
        };
        if self.since.elapsed() >= turn {
            pass(ruby)?;
            self.demand_same_process(ruby)?;
            self.since = Instant::now();
            if self.begun.elapsed() > PATIENCE {
                self.pace = Pace::AtOnce;
            }
        }
        Ok(())
    }

    /// Checks where Ruby was asked: a trap can fork, and nothing keeps the parent's handles in the child.
    ///
    /// # Errors
    /// `Profiler::Error` in a process that was forked meanwhile.
    pub(crate) fn demand_same_process(&self, ruby: &Ruby) -> Result<(), Error> {
        demand_process(ruby, self.process)
    }
}

/// Checks that this is that process, where Ruby was asked in the middle of its work.
///
/// # Errors
/// `Profiler::Error` in another one: it was forked meanwhile.
pub(crate) fn demand_process(ruby: &Ruby, process: u32) -> Result<(), Error> {
    if std::process::id() == process {
        return Ok(());
    }
    let message = "the process was forked while functions were named: the profile is the parent's";
    Err(error(ruby, "Error", message))
}
