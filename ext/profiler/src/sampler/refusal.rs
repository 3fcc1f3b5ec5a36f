//! The reasons why a session cannot start or continue, as values. `api` turns them into exceptions.

use profiler_core::ticking::engine::Engine;

/// The reason why a session cannot start or continue.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Sessions are running with another engine.
    EngineTaken(Engine),
    /// Other code handles SIGPROF.
    HandlerTaken,
    /// Other code has armed the timer of the process.
    TimerTaken,
    /// None of the requested threads is alive.
    NoThreads,
    /// The kernel refuses a timer, for the reason in this errno.
    NoTimer(i32),
    /// There is no memory for the table of live objects.
    NoMemory,
    /// The system refuses a thread for the collector.
    NoCollector(std::io::Error),
}

/// The reason why a session did not start.
#[derive(Debug)]
pub(crate) enum NotStarted {
    /// The session cannot start.
    Refused(Refusal),
    /// Ruby raised or delivered an exception while the session started.
    Raised(magnus::Error),
}

impl From<Refusal> for NotStarted {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<magnus::Error> for NotStarted {
    fn from(error: magnus::Error) -> Self {
        Self::Raised(error)
    }
}
