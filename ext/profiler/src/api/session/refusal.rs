//! The reasons why a session cannot begin or continue, as exceptions.

use magnus::{Error, Ruby};

use crate::errors::argument_error;
use crate::sampler::{NotStarted, Refusal};
use crate::sys::sigprof;
use crate::vm::exceptions::error;

/// Returns the exception for a session that was stopped or discarded.
pub(super) fn stopped_error(ruby: &Ruby) -> Error {
    error(ruby, "NotRunning", "this session was stopped already")
}

/// Returns the exception for a session of another process.
pub(super) fn orphaned_error(ruby: &Ruby) -> Error {
    let message = "the session belongs to a block on a thread of the process that forked this one";
    error(ruby, "NotRunning", message)
}

const HANDLER_TAKEN: &str = "SIGPROF already has a handler: another profiler, or trap(\"PROF\") in the app";

/// Implements `Native.refusal`: returns why no session could start now, as far as that is known without
/// trying.
pub(super) fn refusal() -> Option<&'static str> {
    (sigprof::owner() == sigprof::SignalOwner::Foreign).then_some(HANDLER_TAKEN)
}

/// Returns the exception for a session that did not start.
pub(super) fn not_started(ruby: &Ruby, why: NotStarted) -> Error {
    match why {
        NotStarted::Refused(refusal) => refused(ruby, refusal),
        NotStarted::Raised(error) => error,
    }
}

fn refused(ruby: &Ruby, refusal: Refusal) -> Error {
    match refusal {
        Refusal::EngineTaken(engine) => error(
            ruby,
            "Unsupported",
            format!(
                "other sessions are running with engine :{}, and a process can use only one engine at a time",
                engine.name()
            ),
        ),
        Refusal::NoThreads => {
            argument_error(ruby, "threads: none of these is alive, or they are threads of the profiler")
        }
        Refusal::TimerTaken => error(
            ruby,
            "Unsupported",
            "the timer of the process (ITIMER_PROF) is already in use, probably by another profiler",
        ),
        Refusal::HandlerTaken => error(ruby, "Unsupported", HANDLER_TAKEN),
        Refusal::NoTimer(errno) => {
            let reason = std::io::Error::from_raw_os_error(errno);
            let hint = if errno == libc::EAGAIN {
                "; the quota of pending signals is used up: see ulimit -i"
            } else {
                ""
            };
            error(ruby, "Unsupported", format!("the system refused a timer: {reason}{hint}"))
        }
        Refusal::NoMemory => error(ruby, "Unsupported", "no memory for the table of live objects (12 MiB)"),
        Refusal::NoCollector(reason) => {
            error(ruby, "Unsupported", format!("cannot start the collector thread: {reason}"))
        }
    }
}
