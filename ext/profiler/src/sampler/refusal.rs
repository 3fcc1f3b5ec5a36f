//! Why a session cannot start or go on, as a value: `api` makes an exception of it.

use profiler_core::session::engine::Engine;

/// Why a session cannot start or go on.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Sessions are running with another engine.
    EngineTaken(Engine),
    /// Somebody else handles SIGPROF.
    HandlerTaken,
    /// Somebody else has armed the timer of the process.
    TimerTaken,
    /// None of the threads that were asked for is alive.
    NoThreads,
    /// The kernel gives no timer; the errno.
    NoTimer(i32),
    /// There is no thread to be had for the collector.
    NoCollector(std::io::Error),
}

/// Why a session did not start.
#[derive(Debug)]
pub(crate) enum NotStarted {
    /// It cannot.
    Refused(Refusal),
    /// Ruby raised meanwhile, or delivered an exception.
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
