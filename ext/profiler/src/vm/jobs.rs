//! Postponed jobs: work that a handler requests and that runs where Ruby checks its interrupts.

use core::ffi::c_void;
#[cfg(ruby_gte_3_3)]
use core::sync::atomic::{AtomicU32, Ordering};

/// Work of that kind. Runs on some Ruby thread, with the GVL; does not raise.
#[derive(Debug)]
pub(crate) struct Job {
    work: unsafe extern "C" fn(*mut c_void),
    #[cfg(ruby_gte_3_3)]
    ticket: AtomicU32,
}

impl Job {
    /// For a static.
    pub(crate) const fn new(work: unsafe extern "C" fn(*mut c_void)) -> Self {
        Self {
            work,
            #[cfg(ruby_gte_3_3)]
            ticket: AtomicU32::new(u32::MAX),
        }
    }

    /// Makes the job known to the VM, which knows few. Call it once.
    ///
    /// # Safety
    /// The caller holds the GVL.
    pub(crate) unsafe fn register(&'static self) {
        #[cfg(ruby_gte_3_3)]
        {
            // SAFETY: a plain function that lives as long as the process.
            let ticket =
                unsafe { rb_sys::rb_postponed_job_preregister(0, Some(self.work), core::ptr::null_mut()) };
            // Release pairs with the Acquire in `trigger`.
            self.ticket.store(ticket, Ordering::Release);
        }
    }

    /// Requests the job at the next check.
    ///
    /// # Signal safety
    /// Documented as safe in a handler. Before Ruby 3.3 it is only while this thread has the GVL: the VM marks
    /// the fiber that runs elsewhere, which may be freed between the two halves of that. So there, in a region
    /// without the GVL, this does nothing. Nor do jobs take data: two that are requested at the same instant can
    /// get each other's (<https://bugs.ruby-lang.org/issues/19991>).
    ///
    /// # Safety
    /// It was registered, and the VM is not gone.
    pub(crate) unsafe fn trigger(&'static self) {
        #[cfg(ruby_gte_3_3)]
        {
            // Acquire pairs with the Release in `register`.
            let ticket = self.ticket.load(Ordering::Acquire);
            if ticket != u32::MAX {
                // SAFETY: the ticket is one that the VM gave.
                unsafe { rb_sys::rb_postponed_job_trigger(ticket) };
            }
        }
        #[cfg(not(ruby_gte_3_3))]
        if super::state::on_ruby_thread() && super::state::not_in_blocking_region() {
            // SAFETY: a plain function that lives as long as the process.
            unsafe { rb_sys::rb_postponed_job_register_one(0, Some(self.work), core::ptr::null_mut()) };
        }
    }

    /// Requests the job at the next check of the thread that has the GVL, from a thread that is not Ruby's.
    ///
    /// Before Ruby 3.3 the VM marks the fiber that ran last. If the thread that has the GVL waits, nobody switches fibers meanwhile. If
    /// another thread runs Ruby after all, its fiber would have to end and be freed between two instructions.
    ///
    /// # Safety
    /// As for [`Job::trigger`]; a thread that is believed to have the GVL waits in a system call.
    pub(crate) unsafe fn trigger_from_outside(&'static self) {
        #[cfg(ruby_gte_3_3)]
        // SAFETY: the caller has registered the job, and the VM is not gone.
        unsafe {
            self.trigger();
        }
        #[cfg(not(ruby_gte_3_3))]
        // SAFETY: a plain function that lives as long as the process; there the VM takes the main Ractor's for want of a thread.
        unsafe {
            rb_sys::rb_postponed_job_register_one(0, Some(self.work), core::ptr::null_mut());
        }
    }
}
