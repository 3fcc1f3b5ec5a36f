//! The system call that a thread waits in: the system does not say.

/// Never asked, as no thread is sent a signal of its own.
pub(crate) fn may_be_interrupted(_native_id: i32, _without_gvl: bool) -> bool {
    true
}
