//! The system call that a thread waits in, which the system does not report.

/// Never called, as no thread is sent a signal of its own.
pub(crate) fn may_be_interrupted(_native_id: i32, _without_gvl: bool) -> bool {
    true
}
