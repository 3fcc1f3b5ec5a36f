//! The turns of other threads during work that needs the GVL.

use std::time::{Duration, Instant};

use magnus::{Error, Ruby};

use crate::vm::exceptions::error;
use crate::vm::threads::pass;
use crate::vm::without_gvl::{briefly_without_gvl, check_interrupts, process_ends};

/// The time for which work holds the GVL before others get it, or the VM is asked whether it is their turn.
const TURN: Duration = Duration::from_micros(500);

/// The pause of a thread that waits for the work of another one.
const PAUSE: Duration = Duration::from_millis(1);

/// The time after which work is done without further pauses: if many threads compute, their turns take long.
const PATIENCE: Duration = Duration::from_secs(2);

/// The pace of work: how it treats other threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Work that is done as soon as possible, as a caller waits for it. Other threads wait for it no longer
    /// than for Ruby code.
    AtOnce,
    /// Work during which other threads run. If they compute, each turn of theirs is a time slice of the VM.
    Yielding,
}

/// The turns during one piece of work.
#[derive(Debug)]
pub(crate) struct Turns {
    /// The pace.
    pub(crate) pace: Pace,
    begun: Instant,
    since: Instant,
    /// The process that the work belongs to.
    pub(super) process: u32,
}

impl Turns {
    /// Begins with this thread's own turn, in the work of that process.
    pub(crate) fn new(pace: Pace, process: u32) -> Self {
        let now = Instant::now();
        Self { pace, begun: now, since: now, process }
    }

    /// Lets other threads run if this one has worked for half a millisecond. Work that must be done at once
    /// lets them run only if the VM would end the turn of Ruby code here. None run as the process ends.
    /// Objects that are not marked may be freed or moved in a turn.
    ///
    /// # Errors
    /// Exceptions that other threads deliver during the call, and those of [`Turns::ensure_same_process`].
    pub(crate) fn give(&mut self, ruby: &Ruby) -> Result<(), Error> {
        if self.since.elapsed() >= TURN && !process_ends() {
            match self.pace {
                Pace::AtOnce => check_interrupts(ruby)?,
                Pace::Yielding => pass(ruby)?,
            }
            self.ensure_same_process(ruby)?;
            self.since = Instant::now();
            if self.is_long() {
                self.pace = Pace::AtOnce;
            }
        }
        Ok(())
    }

    /// Waits for a millisecond, while another thread does the same work.
    ///
    /// # Errors
    /// Same as for [`Turns::give`].
    pub(crate) fn wait(&mut self, ruby: &Ruby) -> Result<(), Error> {
        briefly_without_gvl(ruby, || std::thread::sleep(PAUSE));
        check_interrupts(ruby)?;
        self.ensure_same_process(ruby)
    }

    /// Returns whether this work has taken longer than others should wait for it, or must not wait for
    /// others.
    pub(crate) fn is_long(&self) -> bool {
        self.begun.elapsed() > PATIENCE || process_ends()
    }

    /// Checks the process after a call into Ruby: a trap can fork, and in the child the parent's handles are
    /// not kept alive.
    ///
    /// # Errors
    /// `Profiler::Error` in a child that was forked during the call.
    pub(crate) fn ensure_same_process(&self, ruby: &Ruby) -> Result<(), Error> {
        ensure_process(ruby, self.process)
    }
}

/// Checks that this is that process, after Ruby was called in the middle of its work.
///
/// # Errors
/// `Profiler::Error` in a child that was forked during the call.
pub(crate) fn ensure_process(ruby: &Ruby, process: u32) -> Result<(), Error> {
    if std::process::id() == process {
        return Ok(());
    }
    let message =
        "the process was forked while functions were being named: the profile belongs to the parent";
    Err(error(ruby, "Error", message))
}
