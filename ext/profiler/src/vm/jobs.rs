//! Postponed jobs: work that a handler asks for and that runs where Ruby checks its interrupts.

use core::ffi::c_void;
#[cfg(ruby_gte_3_3)]
use core::sync::atomic::{AtomicU32, Ordering};

/// The work. Runs on some Ruby thread, with the GVL.
pub(crate) type Job = unsafe extern "C" fn(*mut c_void);

#[cfg(ruby_gte_3_3)]
static TICKET: AtomicU32 = AtomicU32::new(u32::MAX);

/// Makes `job` known. Call it once.
///
/// # Safety
/// The caller holds the GVL; `job` does not raise.
pub(crate) unsafe fn register(job: Job) {
    #[cfg(ruby_gte_3_3)]
    {
        // SAFETY: a plain function that lives as long as the process.
        let ticket = unsafe { rb_sys::rb_postponed_job_preregister(0, Some(job), core::ptr::null_mut()) };
        TICKET.store(ticket, Ordering::Release);
    }
    #[cfg(not(ruby_gte_3_3))]
    let _ = job;
}

/// Asks for `job` at the next check.
///
/// # Signal safety
/// Documented as safe in a handler. Before Ruby 3.3 two jobs that are asked for at the same instant
/// can get each other's data (<https://bugs.ruby-lang.org/issues/19991>); ours takes none.
///
/// # Safety
/// [`register`] was called with the same `job`.
pub(crate) unsafe fn trigger(job: Job) {
    #[cfg(ruby_gte_3_3)]
    {
        let _ = job;
        // Acquire pairs with the Release in `register`.
        let ticket = TICKET.load(Ordering::Acquire);
        if ticket != u32::MAX {
            // SAFETY: the ticket is one that the VM gave.
            unsafe { rb_sys::rb_postponed_job_trigger(ticket) };
        }
    }
    #[cfg(not(ruby_gte_3_3))]
    // SAFETY: a plain function that lives as long as the process.
    unsafe {
        rb_sys::rb_postponed_job_register_one(0, Some(job), core::ptr::null_mut());
    }
}
